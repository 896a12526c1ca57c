import { maxNoteBytes } from '@agentfleet/protocol/keeper';
import { keptLines, plain } from '../tools/tool.ts';

/** Tokens of an observation that the model sees at once. */
export const observationTokens = 4000;

/** Share by which a text may be longer than its bound: to cut and read a few lines costs more than they do. */
const slack = 0.1;
const headShare = 0.6;
/** Bytes of UTF-8 in one token, roughly; `correction` of the context is its error for a model. */
export const bytesPerToken = 4;

/** The tool that reads what was cut; a task may not have it. */
export const readsHandles = 'read_file';

/** Options for cutting a text. */
export interface Cut {
  /** Bound of what is shown, tokens; default: `observationTokens`. */
  readonly tokens?: number;
  /** Tokens of the longest text that is shown whole, where that is more than `tokens`. */
  readonly whole?: number;
  /** Returns the handle that reads the rest; called only when something is cut. Absent: the rest is lost. */
  readonly handle?: () => string;
  readonly rest?: string;
  /** Tokens for each token of the estimate. */
  readonly correction?: number;
}

/** Tokens of a text, estimated. */
export function textTokens(text: string, correction = 1): number {
  return Math.ceil((Buffer.byteLength(text) / bytesPerToken) * correction);
}

/**
 * Returns a result as the model sees it: cleaned, and cut to head and tail with a line between them that names what is missing.
 *
 * @example
 * observed(output, memory.kept(callKey, output))
 */
export function observed(
  raw: string,
  { tokens = observationTokens, whole, handle, correction = 1, rest = 'the rest was not kept' }: Cut = {},
): string {
  const text = plain(raw);
  if (isShort(text, { tokens, ...(whole !== undefined && { whole }), correction })) return text;
  const bytes = Math.floor((tokens / correction) * bytesPerToken);
  const head = headOf(text, Math.floor(bytes * headShare));
  const tail = tailOf(text, bytes - Math.floor(bytes * headShare));
  const missing = text.slice(head.length, text.length - tail.length);
  const lines = missing.split('\n').length;
  const from = keptLines(head).length + (head.endsWith('\n') ? 1 : 0);
  const how = handle === undefined ? rest : `${readsHandles} {handle: "${handle()}", from_line: ${from}} reads it`;
  const what = `about ${roughly(textTokens(missing, correction))} of ${roughly(textTokens(text, correction))} tokens (${lines} lines) are not shown`;
  return `${head.trimEnd()}\n[… ${what}; ${how} …]\n${tail}`;
}

function isShort(text: string, { tokens = observationTokens, whole = 0, correction = 1 }: Cut): boolean {
  return textTokens(text, correction) <= Math.max(whole, tokens * (1 + slack));
}

/** Returns a result that can be read on, as the model sees it. @param within as `Observation` has it */
export function fitted(raw: string, within: (characters: number) => string, cut: Cut): string {
  const text = plain(raw);
  const { tokens = observationTokens, correction = 1 } = cut;
  return isShort(text, cut) ? text : plain(within(Math.floor((tokens / correction) * bytesPerToken)));
}

/** The first bytes of a text, up to the end of a line where one is near. */
function headOf(text: string, bytes: number): string {
  const whole = Buffer.from(text.slice(0, bytes)).subarray(0, bytes);
  const head = withoutHalves(whole.toString('utf8'), 'end');
  const line = head.lastIndexOf('\n');
  return line > head.length * 0.8 ? head.slice(0, line + 1) : head;
}

function tailOf(text: string, bytes: number): string {
  const whole = Buffer.from(text.slice(Math.max(0, text.length - bytes)));
  const tail = withoutHalves(whole.subarray(Math.max(0, whole.length - bytes)).toString('utf8'), 'start');
  const line = tail.indexOf('\n');
  return line !== -1 && line < tail.length * 0.2 ? tail.slice(line + 1) : tail;
}

/** Drops the characters that a cut between bytes left incomplete. */
function withoutHalves(text: string, side: 'start' | 'end'): string {
  return side === 'end' ? text.replace(/\ufffd{1,3}$/, '') : text.replace(/^\ufffd{1,3}/, '');
}

/** A text that is kept for later, cut to what a note of the event log takes beside the rest of it. */
export function keptText(text: string): string {
  for (let most = text.length; ; most = Math.floor(most * 0.8)) {
    const half = Math.floor(most / 2);
    const missing = `\n[… ${text.length - 2 * half} characters were not kept: write such output to a file and search it …]\n`;
    const cut = most === text.length ? text : `${text.slice(0, half)}${missing}${text.slice(-half)}`.toWellFormed();
    if (Buffer.byteLength(JSON.stringify(cut)) <= maxNoteBytes - 4096) return cut;
  }
}

/** Two digits of an estimate: more are not known. */
const roughly = (count: number): number => Number(count.toPrecision(2));
