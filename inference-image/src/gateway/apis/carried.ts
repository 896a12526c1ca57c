const prefix = 'agentfleet-state:';

/**
 * Signature of thinking blocks that the gateway writes for models of other vendors. They come back with a carried state, and are
 * dropped then.
 */
export const ownSignature = 'agentfleet';

/** What a provider wants back, as a text for the opaque member that a client returns unchanged; null: there is nothing to carry. */
export function carried(state: unknown): string | null {
  return state === undefined || state === null ? null : `${prefix}${Buffer.from(JSON.stringify(state)).toString('base64url')}`;
}

/** The state in such a text; undefined: it is none of ours, or broken. */
export function uncarried(text: unknown): unknown {
  if (typeof text !== 'string' || !text.startsWith(prefix)) return undefined;
  try {
    return JSON.parse(Buffer.from(text.slice(prefix.length), 'base64url').toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** What a server of the chat API reports of its model's thinking, by the names that servers give it. */
export function reasoningOf(message: object): string {
  const { reasoning_content: content, reasoning } = message as { readonly reasoning_content?: unknown; readonly reasoning?: unknown };
  if (typeof content === 'string') return content;
  return typeof reasoning === 'string' ? reasoning : '';
}
