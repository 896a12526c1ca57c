// inference-image, gateway/apis: provider state encoded in a client's messages. Imports gateway/providers and protocol.
import { jsonOf } from '@agentfleet/protocol/text';

const prefix = 'agentfleet-state:';

/**
 * Signature of thinking blocks that the gateway writes for models of other vendors. A client returns them with a
 * carried state, and they are dropped then.
 */
export const ownSignature = 'agentfleet';

/** Encodes a provider's state as text for the opaque member that a client returns unchanged; null: there is none. */
export function carried(state: unknown): string | null {
  return state === undefined || state === null ? null : `${prefix}${Buffer.from(JSON.stringify(state)).toString('base64url')}`;
}

/** Decodes the state in such a text; undefined: it is foreign or broken. */
export function uncarried(text: unknown): unknown {
  if (typeof text !== 'string' || !text.startsWith(prefix)) return undefined;
  return jsonOf(Buffer.from(text.slice(prefix.length), 'base64url').toString());
}

/** Returns the words of a message, or of a piece of one: those of a refusal have a member of their own. */
export function wordsOf(message: object): string {
  const { content, refusal } = message as { readonly content?: unknown; readonly refusal?: unknown };
  if (typeof content === 'string' && content !== '') return content;
  return typeof refusal === 'string' ? refusal : '';
}

/** Returns the reasoning of a model, by the names that servers of the chat API give it. */
export function reasoningOf(message: object): string {
  const { reasoning_content: content, reasoning } = message as { readonly reasoning_content?: unknown; readonly reasoning?: unknown };
  if (typeof content === 'string') return content;
  return typeof reasoning === 'string' ? reasoning : '';
}
