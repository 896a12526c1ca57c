import type { Command, Language } from './command.ts';
import { absolute } from './places.ts';
import type { Run, Site } from './run.ts';
import { interpreters } from './interpreters.ts';
import { prefixes } from './prefixes.ts';
import { runners } from './runners.ts';
import type { Inner, Unwrapper } from './wrapper.ts';

const table: ReadonlyMap<string, Unwrapper> = new Map([...Object.entries(prefixes), ...Object.entries(runners)]);

/** What a command runs in turn: wrappers, shells, interpreters, scripts that this act wrote. */
export function unwrap(command: Command, run: Run, site: Site): readonly Inner[] {
  const found = table.get(command.name) ?? interpreters(command.name);
  const inner = found === null ? [] : found(command, run, site);
  return [...inner, ...ownScript(command, run)];
}

/** `./x` where this act wrote x. */
function ownScript(command: Command, run: Run): readonly Inner[] {
  const path = command.argv[0]?.text ?? '';
  if (!path.includes('/')) return [];
  const content = run.files.get(absolute(path, command.cwd));
  if (content === undefined) return [];
  return [{ code: { language: languageOf(path, content.text), value: content, source: 'file' }, positional: command.argv.slice(1) }];
}

/** By the first line, then by the ending. */
export function languageOf(path: string, content: string): Language {
  const line = content.startsWith('#!') ? (content.slice(0, 200).split('\n')[0] as string) : '';
  if (/python/.test(line) || (line === '' && /\.pyw?$/.test(path))) return 'python';
  if (/\b(?:node|deno|bun)\b/.test(line) || (line === '' && /\.[cm]?js$/.test(path))) return 'javascript';
  if (/perl|ruby|php|lua|awk/.test(line) || (line === '' && /\.(?:pl|rb|php|lua)$/.test(path))) return 'text';
  return 'shell';
}
