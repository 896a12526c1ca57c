import { type Fault, type Faults, type GrammarName, languageOf } from './jobs.ts';
import { type SyntaxMode, type SyntaxVerdict, syntaxBounds } from '@agentfleet/protocol/keeper';
import { isUtf8 } from 'node:buffer';
import { KeeperError, messageOf } from '../../base/failure.ts';
import type { SyntaxParser } from './parser.ts';

interface Edited {
  readonly path: string;
  readonly before: Buffer | null;
  readonly after: Buffer;
}

export type SyntaxCheck = (edited: Edited) => Promise<SyntaxVerdict>;

const named = 3;
/** The memory that the bash grammar takes for a pipe of n parts grows with n². */
const maxPipes = 500;

/** Refuses edits that add syntax errors to files of known languages; files that it cannot judge pass and are reported as such. */
export function syntaxCheck(parser: SyntaxParser, mode: SyntaxMode): SyntaxCheck {
  return async ({ path, before, after }) => {
    if (mode === 'Skip') return 'Skipped';
    const language = languageOf(path);
    if (language === null || !fits(after, language) || (before !== null && !fits(before, language))) return 'NotChecked';
    if (language === 'json') return checkJson(path, before, after);
    const now = await parser.ask({ kind: 'Faults', grammar: language, text: after.toString('utf8') });
    if (now === null) return 'NotChecked';
    if (now.count === 0) return 'Checked';
    const then = before === null ? none : await parser.ask({ kind: 'Faults', grammar: language, text: before.toString('utf8') });
    if (then === null) return 'NotChecked';
    if (now.count > then.count) throw refusal(path, language, now, then);
    return 'Checked';
  };
}

const none: Faults = { count: 0, first: [] };

function fits(content: Buffer, language: GrammarName | 'json'): boolean {
  if (content.length > (language === 'bash' ? syntaxBounds.bashBytes : syntaxBounds.fileBytes) || !isUtf8(content)) return false;
  return language !== 'bash' || content.toString('latin1').split('|').length <= maxPipes;
}

function refusal(path: string, language: GrammarName, now: Faults, then: Faults): KeeperError {
  const old = new Set(then.first.map(({ text }) => text));
  const added = now.first.filter(({ text }) => !old.has(text));
  const shown = (added.length > 0 ? added : now.first).slice(0, named).map(reported);
  const more = now.count - then.count;
  const errors = more === 1 ? 'a syntax error' : `${more} more syntax errors`;
  return new KeeperError('AF_EDIT_SYNTAX', `${path} would have ${errors} as ${language}: ${shown.join('; ')}`, {
    cure: 'correct the new text there; when it is right and the grammar is not, send syntax: "Skip"; nothing was written',
  });
}

function reported({ line, column, what, text }: Fault): string {
  return `line ${line}, column ${column}: ${what} in ${JSON.stringify(text)}`;
}

function checkJson(path: string, before: Buffer | null, after: Buffer): SyntaxVerdict {
  const why = jsonFault(after);
  if (why === null) return 'Checked';
  // A file that never was JSON is none of this check's business.
  if (before !== null && jsonFault(before) !== null) return 'NotChecked';
  throw new KeeperError('AF_EDIT_SYNTAX', `${path} would be no JSON: ${why}`, {
    cure: 'correct the new text there; when the file is not meant to be plain JSON, send syntax: "Skip"; nothing was written',
  });
}

/** Returns the parser's message, with line and column where it gives a position. */
function jsonFault(content: Buffer): string | null {
  const text = content.toString('utf8').replace(/^\uFEFF/, '');
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return placed(messageOf(error), text);
  }
}

function placed(message: string, text: string): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  const at = position === undefined ? text.length : Number(position);
  const before = text.slice(0, at).split('\n');
  const where = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  return `${where}: ${message.replace(/ in JSON at position.*$|, ?"[^]*" is not valid JSON$/, '')}`;
}
