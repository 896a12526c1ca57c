import { isUtf8 } from 'node:buffer';
import { toolDefinition } from '@agentfleet/protocol/chat';
import { reachOfActs } from '../attempt/acts.ts';
import { getPage, PageFault, type Page } from '../egress/index.ts';
import { boundOf, plain, ArgumentError, type Observation, type Tool, type ToolContext } from './tool.ts';

/** Elements whose content is not text. */
const unread = /<(script|style|noscript|template|svg)\b[^<>]*>[^]*?(?:<\/\1\s*>|$)/gi;
const comments = /<!--[^]*?(?:-->|$)/g;
const blocks =
  /<\/?(?:p|div|section|article|header|footer|main|nav|aside|ul|ol|dl|dt|dd|table|tr|h[1-6]|pre|blockquote|br|hr|form|title)\b[^<>]*>/gi;
const items = /<li\b[^<>]*>/gi;
const cells = /<\/t[dh]\s*>/gi;
const tags = /<\/?[a-z!][^<>]*>/gi;

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** The text of an HTML page, without layout: enough to read documentation by. */
function htmlText(html: string): string {
  const text = html
    .replaceAll(comments, '')
    .replaceAll(unread, '')
    .replaceAll(items, '\n- ')
    .replaceAll(cells, '\t')
    .replaceAll(blocks, '\n')
    .replaceAll(tags, '')
    .replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, decoded);
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

function decoded(entity: string, decimal: string | undefined, hex: string | undefined, name: string | undefined): string {
  if (name !== undefined) return entities[name.toLowerCase()] ?? entity;
  const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return point <= 0x10ffff ? String.fromCodePoint(point) : entity;
}

interface FetchArguments {
  readonly url: string;
  readonly max_bytes?: number;
}

const defaultBytes = 65_536;

/** The text at a URL of a host that the task may reach; the worker dials, by the same rules as for a command's connections. */
export const fetchPage: Tool = {
  definition: toolDefinition('fetch'),
  offered: ({ context, options }) => (reachOfActs(context)?.hosts.length ?? 0) > 0 && options.web !== undefined,
  run: async (args, context) => {
    const { url, max_bytes: maxBytes = defaultBytes } = args as unknown as FetchArguments;
    if (!URL.canParse(url)) throw new ArgumentError(`url: ${plain(url)} is no URL; write it with its scheme, as https://example.com/page`);
    return observationOf(await get(url, maxBytes, context), maxBytes);
  },
};

/** The durable log has the intent before anything is sent out. */
async function get(url: string, maxBytes: number, { scope }: ToolContext): Promise<Page> {
  const { context, session, options } = scope;
  const reach = reachOfActs(context);
  if (reach === null || options.web === undefined) throw new Error('fetch is offered without a way out; report this fault');
  const { attempt } = context.assignment;
  await session.note('Intent', { attempt, reach: reach.mode, command: `fetch ${url.slice(0, 2000)}` });
  await context.intentDurable();
  const { openDialer, authorities } = options.web;
  const { clock, signal } = context;
  const dialer = openDialer(reach.rules);
  const seconds = boundOf(context, 'fetch');
  try {
    const trusted = authorities === undefined ? {} : { authorities };
    const page = await getPage(url, { hosts: reach.hosts, dialer, maxBytes, seconds, clock, signal, ...trusted });
    await session.note('Fetched', { attempt, url: page.url.slice(0, 2000), status: page.status, bytes: page.body.length });
    return page;
  } catch (error) {
    if (error instanceof PageFault) throw new ArgumentError(`url: ${plain(error.message)}`);
    throw error;
  }
}

function observationOf({ status, type, body, cut, url }: Page, maxBytes: number): Observation {
  const [kind = ''] = type.split(';');
  const facts = [`status ${status}`, kind.trim() === '' ? 'type unknown' : plain(kind.trim()), `${body.length} bytes`, plain(url)];
  const more = cut ? [`the first ${maxBytes} bytes; max_bytes takes more`] : [];
  const whole = cut ? trimmed(body) : body;
  const isText = !whole.includes(0) && isUtf8(whole);
  const text = isText ? plain(kind.includes('html') ? htmlText(whole.toString('utf8')) : whole.toString('utf8')).trimEnd() : '';
  const last = `[${[...facts, ...more, ...(isText ? [] : ['not UTF-8 text'])].join(', ')}]`;
  return { ok: status < 400 && isText, text: text === '' ? last : `${text}\n${last}` };
}

/** Drops the character that a cut went through. */
function trimmed(body: Buffer): Buffer {
  for (let left = 0; left < 4; left += 1) {
    const whole = body.subarray(0, body.length - left);
    if (isUtf8(whole)) return whole;
  }
  return body;
}
