import type { WireMessage } from '@agentfleet/protocol/chat';
import type { RedactionKind } from '@agentfleet/protocol/keeper';
import { Redaction, type Redacting } from '@agentfleet/protocol/redact';

type Content = Exclude<WireMessage['content'], undefined>;

/** Messages without secrets in their texts. Calls, ids and states are left as they are: providers want them back unchanged. */
export function withoutSecrets(messages: readonly WireMessage[], onRedacted: (kind: RedactionKind) => void): WireMessage[] {
  const redacting = new Redaction(onRedacted).open();
  return messages.map(({ content, ...message }) => ({
    ...message,
    ...(content !== undefined && { content: contentOf(content, redacting) }),
  }));
}

function contentOf(content: Content, redacting: Redacting): Content {
  if (content === null) return null;
  if (typeof content === 'string') return redacting.text(content);
  return content.map((part) => ('text' in part && typeof part.text === 'string' ? { ...part, text: redacting.text(part.text) } : part));
}
