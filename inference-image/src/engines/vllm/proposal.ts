import type { Candidate, Edit, FocusFile, GenerateRequest, ShellAct } from '@agentfleet/protocol/inference';
import { jsonOf } from '@agentfleet/protocol/text';
import { candidateId, editOf, type Found, suspects } from '../../base/engine.ts';

interface Replacement {
  readonly path: string;
  readonly find: string;
  readonly replace: string;
}

/**
 * Reads an answer of the model for the files of a request. It is no proposal if it does not fit: text that occurs nowhere or twice, edits that overlap or
 * change nothing, commands where none were requested.
 * @returns null when it proposes nothing applicable
 */
export function proposalOf(text: string, { files, grammar }: Pick<GenerateRequest, 'files' | 'grammar'>): Omit<Found, 'energy'> | null {
  const answer = parsed(text);
  if (answer === null) return null;
  const edits: Edit[] = [];
  for (const replacement of answer.edits) {
    const edit = placed(replacement, files);
    if (edit === null) return null;
    edits.push(edit);
  }
  const acts = grammar === 'Tool' ? answer.commands.map((command): ShellAct => ({ tool: 'Shell', command })) : [];
  if (edits.length + acts.length === 0 || overlap(edits)) return null;
  const first = edits[0];
  return {
    id: candidateId(edits, acts),
    edits,
    ...(acts.length > 0 && { acts }),
    operator: 'language-model',
    rationale: answer.reason,
    location: first === undefined ? { path: files[0]?.path ?? '.', line: 1, column: 0 } : locate(first, files),
  };
}

function parsed(
  text: string,
): { readonly edits: readonly Replacement[]; readonly commands: readonly string[]; readonly reason: string } | null {
  const value = jsonOf(text);
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

function placed({ path, find, replace }: Replacement, files: readonly FocusFile[]): Edit | null {
  const file = files.find((known) => known.path === path);
  const at = file?.content.indexOf(find) ?? -1;
  if (file === undefined || at < 0 || file.content.includes(find, at + 1) || find === replace) return null;
  return editOf(file, at, at + find.length, replace);
}

function overlap(edits: readonly Edit[]): boolean {
  return edits.some(({ path, range }, index) =>
    edits
      .slice(index + 1)
      .some((other) => other.path === path && range.startByte < other.range.endByte && other.range.startByte < range.endByte),
  );
}

function locate({ path, range, before }: Edit, files: readonly FocusFile[]): Candidate['location'] {
  const content = Buffer.from(files.find((known) => known.path === path)?.content ?? '');
  const lines = content.subarray(0, range.startByte).toString().split('\n');
  // An edit that begins with the end of a line is about the next one.
  const shift = /^\n*/.exec(before)?.[0].length ?? 0;
  return { path, line: lines.length + shift, column: shift > 0 ? 0 : (lines.at(-1)?.length ?? 0) };
}

/** Least characters of a token: a text with at most that many per token of room fits. */
const charsPerToken = 3;

const maxFailures = 4;
const maxWords = 2000;

const instructions =
  'You work on files of a project. You get a goal, what fails, and files with numbered lines. Answer with one JSON object. ' +
  '"edits" are replacements: "find" is text that stands exactly once in the file "path", without line numbers, and "replace" is what takes its place. ' +
  'Keep edits small. "reason" is one sentence.';

const acting = ' "commands" are command lines for /bin/sh that are run in the project after the edits; leave them out where edits suffice.';

/** Returns the schema of an answer. Long texts have no bound, which grammars count at each token: `max_tokens` ends them. */
export function proposalSchema({ grammar, maxEdits, files }: Pick<GenerateRequest, 'grammar' | 'maxEdits' | 'files'>): object {
  const edit = {
    type: 'object',
    properties: {
      path: { type: 'string', ...(files.length > 0 && { enum: files.map(({ path }) => path) }) },
      find: { type: 'string' },
      replace: { type: 'string' },
    },
    required: ['path', 'find', 'replace'],
    additionalProperties: false,
  };
  const commands = { type: 'array', maxItems: 4, items: { type: 'string' } };
  return {
    type: 'object',
    properties: {
      // With the grammar of tools an edit may have any size: `maxEdits` only bounds the search of edits.
      edits: { type: 'array', maxItems: grammar === 'Tool' ? 8 : Math.max(maxEdits, 2), items: edit },
      ...(grammar === 'Tool' && { commands }),
      reason: { type: 'string', maxLength: 300 },
    },
    required: ['edits', 'reason'],
    additionalProperties: false,
  };
}

/** The conversation that asks for a proposal; `tokens` is room for all of it. */
export function conversation(
  request: GenerateRequest,
  tokens: number,
): readonly { readonly role: 'system' | 'user'; readonly content: string }[] {
  const system = instructions + (request.grammar === 'Tool' ? acting : '');
  const failures = request.localisation.failingTests.slice(0, maxFailures).map(({ id, message }) => `${id}: ${message.slice(0, maxWords)}`);
  const goal = `Goal: ${request.goal}\n`;
  const fails = failures.length === 0 ? '' : `What fails:\n${failures.join('\n')}\n`;
  const room = Math.max(0, tokens * charsPerToken - system.length - goal.length - fails.length);
  return [
    { role: 'system', content: system },
    { role: 'user', content: `${goal}${fails}${shown(request, room)}` },
  ];
}

/** Returns lines of all files while there is room: the most suspicious with their context first, shown in their order. */
function shown(request: GenerateRequest, room: number): string {
  const lines = request.files.map(({ content }) => content.split('\n'));
  const chosen = lines.map(() => new Set<number>());
  let left = room - request.files.reduce((sum, { path }) => sum + path.length + 8, 0);
  const take = (file: number, line: number): boolean => {
    const text = lines[file]?.[line - 1];
    const taken = chosen[file];
    if (text === undefined || taken === undefined || taken.has(line)) return true;
    left -= text.length + 8;
    if (left < 0) return false;
    taken.add(line);
    return true;
  };
  const order = suspects(request, 64);
  for (const around of [0, 10, 40])
    for (const { file, line } of order)
      for (let at = line - around; at <= line + around; at += 1) if (!take(file, at)) return reported(request, lines, chosen);
  for (const [file, all] of lines.entries())
    for (let at = 1; at <= all.length; at += 1) if (!take(file, at)) return reported(request, lines, chosen);
  return reported(request, lines, chosen);
}

function reported({ files }: GenerateRequest, lines: readonly (readonly string[])[], chosen: readonly ReadonlySet<number>[]): string {
  return files
    .map(({ path }, file) => {
      const parts: string[] = [];
      let last = 0;
      for (const line of [...(chosen[file] ?? [])].sort((a, b) => a - b)) {
        if (line !== last + 1) parts.push('…');
        parts.push(`${line}| ${lines[file]?.[line - 1] ?? ''}`);
        last = line;
      }
      return `--- ${path}\n${parts.join('\n')}\n`;
    })
    .join('');
}
