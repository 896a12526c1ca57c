import type { ChatRequest, WireMessage } from '@agentfleet/protocol/chat';
import { isBytes, isDataUrl, refersOutside } from '../providers/index.ts';
import { refused } from './api.ts';

type Loose = Readonly<Record<string, unknown>>;

/** A part of a message. */
export type Part = { readonly type: string } & Loose;

/**
 * Returns a request whose messages hold all that they show. A provider fetches what a part names by an address or a file's id, past
 * every wall and allowlist of the sandbox that asks; so parts of known types go on, with their bytes and known members alone.
 * @throws GatewayError InvalidRequest
 */
export function selfContained(request: ChatRequest): ChatRequest {
  return { ...request, messages: request.messages.map((message, at) => messageOf(message, `messages.${at}`)) };
}

/** Members of a message that are read, or are texts and calls alone. */
const messageMembers: ReadonlySet<string> = new Set(['role', 'content', 'tool_calls', 'provider_state', 'cache_control']);

function messageOf(message: WireMessage, at: string): WireMessage {
  const { content } = message;
  // `audio` names an earlier answer that the vendor keeps.
  const kept = Object.entries(message).filter(
    ([name, value]) => messageMembers.has(name) || (name !== 'audio' && !refersOutside(name, value)),
  );
  const own = Object.fromEntries(kept) as WireMessage;
  if (!Array.isArray(content)) return own;
  return { ...own, content: content.map((part, n) => partOf(part as Part, `${at}.content.${n}`)) };
}

/** Types of parts that have a URL; some clients write it in the place of the object that holds it. */
const urlTypes: ReadonlySet<string> = new Set(['image_url', 'video_url', 'audio_url']);
/** Types of parts that have bytes, and by which members. */
const byteTypes: Readonly<Record<string, { readonly data: string; readonly more: string }>> = {
  input_audio: { data: 'data', more: 'format' },
  file: { data: 'file_data', more: 'filename' },
};

function partOf(part: Part, at: string): Part {
  const { type } = part;
  if (type === 'text' || type === 'refusal') return textOf(part, at);
  if (urlTypes.has(type)) return { type, [type]: shownOf(part[type], `${at}.${type}`), ...markOf(part) };
  if (Object.hasOwn(byteTypes, type)) return { type, [type]: dataOf(part, at), ...markOf(part) };
  if (type === 'document') return documentOf(part, at);
  if ((type === 'thinking' || type === 'redacted_thinking') && !refersOutside('', part)) return part;
  throw refused(at, `a part of type ${type} is not served: send texts, and images, audio, video and files by their bytes`);
}

function textOf(part: Part, at: string): Part {
  const { type, [type]: text } = part;
  if (typeof text !== 'string') throw refused(`${at}.${type}`, 'it is no text: send one');
  return { type, [type]: text, ...markOf(part) };
}

function shownOf(value: unknown, at: string): object {
  if (typeof value === 'string') return { url: inlineUrl(value, at) };
  const { url, detail, format } = (value ?? {}) as Loose;
  return { url: inlineUrl(url, `${at}.url`), ...(typeof detail === 'string' && { detail }), ...(typeof format === 'string' && { format }) };
}

/** Returns a URL that holds its bytes. @throws GatewayError InvalidRequest for any other */
export function inlineUrl(url: unknown, at: string): string {
  if (isDataUrl(url)) return url;
  throw refused(at, 'nothing is fetched for a request: send the bytes as data:TYPE;base64,…');
}

function dataOf(part: Part, at: string): object {
  const { type, [part.type]: value } = part;
  const { data, more } = byteTypes[type] ?? { data: '', more: '' };
  const { [data]: bytes, [more]: rest } = (value ?? {}) as Loose;
  if (!isBytes(bytes))
    throw refused(`${at}.${type}.${data}`, 'nothing is fetched, and files of the vendor are not kept: send the bytes in base64');
  return { [data]: bytes, ...(typeof rest === 'string' && { [more]: rest }) };
}

/** Returns a document of text as text, so that it is redacted; one of bytes as it is. @throws GatewayError InvalidRequest for any other */
export function documentOf(block: Part, at: string): Part {
  const { type, source, title, context, citations } = block;
  const { type: kind, media_type, data, content } = (source ?? {}) as Loose;
  const text = kind === 'text' ? data : kind === 'content' ? textsOf(content) : undefined;
  if (typeof text === 'string') return { type: 'text', text: typeof title === 'string' ? `${title}\n\n${text}` : text, ...markOf(block) };
  if (kind !== 'base64')
    throw refused(
      `${at}.source`,
      'nothing is fetched, and files of the vendor are not kept: send a document as text or by its bytes (base64)',
    );
  if (!isBytes(data)) throw refused(`${at}.source.data`, 'it is no base64: send the bytes of the document');
  const own = {
    ...(title !== undefined && { title }),
    ...(context !== undefined && { context }),
    ...(citations !== undefined && { citations }),
  };
  return { type, source: { type: kind, media_type, data }, ...own, ...markOf(block) };
}

function textsOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((block: unknown) => {
    const { type, text } = (block ?? {}) as Loose;
    return type === 'text' && typeof text === 'string' ? [text] : [];
  });
  return texts.length === content.length ? texts.join('\n\n') : undefined;
}

/** The mark of a cache that a client set. */
export function markOf({ cache_control: mark }: Loose): { readonly cache_control?: unknown } {
  return mark === undefined || mark === null ? {} : { cache_control: mark };
}
