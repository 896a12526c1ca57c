import { createHash } from 'node:crypto';
import type { Edit, FocusFile, GenerateRequest, Location, ShellAct } from '@agentfleet/protocol/inference';
import { candidateId } from '../candidateId.ts';

/** What an answer of the model comes to in the files of the request. */
export interface Proposal {
  readonly id: string;
  readonly edits: readonly Edit[];
  readonly acts: readonly ShellAct[];
  readonly rationale: string;
  readonly location: Location;
}

interface Replacement {
  readonly path: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * Reads an answer. What does not fit is no proposal: text that stands nowhere or twice, edits that overlap or change
 * nothing, commands where none were asked for.
 * @returns null when it proposes nothing that can be done
 */
export function proposalOf(text: string, { files, grammar }: Pick<GenerateRequest, 'files' | 'grammar'>): Proposal | null {
  const answer = parsed(text);
  if (answer === null) return null;
  const edits: Edit[] = [];
  for (const replacement of answer.edits) {
    const edit = editOf(replacement, files);
    if (edit === null) return null;
    edits.push(edit);
  }
  const acts = grammar === 'Tool' ? answer.commands.map((command): ShellAct => ({ tool: 'Shell', command })) : [];
  if (edits.length + acts.length === 0 || overlap(edits)) return null;
  const first = edits[0];
  return {
    id: candidateId(edits, acts),
    edits,
    acts,
    rationale: answer.reason,
    location: first === undefined ? { path: files[0]?.path ?? '.', line: 1, column: 0 } : locate(first, files),
  };
}

function parsed(
  text: string,
): { readonly edits: readonly Replacement[]; readonly commands: readonly string[]; readonly reason: string } | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { edits, commands, reason } = value as { readonly edits?: unknown; readonly commands?: unknown; readonly reason?: unknown };
  const replacements = Array.isArray(edits) ? edits.filter(isReplacement) : [];
  if (Array.isArray(edits) && replacements.length < edits.length) return null;
  const lines = Array.isArray(commands)
    ? commands.filter((line): line is string => typeof line === 'string' && line !== '' && line.length <= 4096)
    : [];
  return { edits: replacements, commands: lines, reason: typeof reason === 'string' ? reason.slice(0, 300) : '' };
}

function isReplacement(value: unknown): value is Replacement {
  const { path, find, replace } = (value ?? {}) as Record<string, unknown>;
  return typeof path === 'string' && typeof find === 'string' && find !== '' && typeof replace === 'string';
}

function editOf({ path, find, replace }: Replacement, files: readonly FocusFile[]): Edit | null {
  const file = files.find((known) => known.path === path);
  const at = file?.content.indexOf(find) ?? -1;
  if (file === undefined || at < 0 || file.content.includes(find, at + 1) || find === replace) return null;
  const startByte = Buffer.byteLength(file.content.slice(0, at));
  return {
    path,
    range: { startByte, endByte: startByte + Buffer.byteLength(find) },
    before: find,
    after: replace,
    expectedSha256: createHash('sha256').update(file.content).digest('hex'),
  };
}

function overlap(edits: readonly Edit[]): boolean {
  return edits.some(({ path, range }, index) =>
    edits
      .slice(index + 1)
      .some((other) => other.path === path && range.startByte < other.range.endByte && other.range.startByte < range.endByte),
  );
}

function locate({ path, range, before }: Edit, files: readonly FocusFile[]): Location {
  const content = Buffer.from(files.find((known) => known.path === path)?.content ?? '');
  const lines = content.subarray(0, range.startByte).toString().split('\n');
  // An edit that begins with the end of a line is about the next one.
  const shift = /^\n*/.exec(before)?.[0].length ?? 0;
  return { path, line: lines.length + shift, column: shift > 0 ? 0 : (lines.at(-1)?.length ?? 0) };
}
