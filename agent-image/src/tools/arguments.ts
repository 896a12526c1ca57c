import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { ToolDefinition } from '@agentfleet/protocol/chat';
import { plain, ArgumentError, type Tool } from './tool.ts';
import { posix } from 'node:path';
import { jsonIn, looseJson, objectIn } from '../base/text.ts';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { FileLines } from '@agentfleet/protocol/keeper';
import type { SandboxSession } from '../attempt/sandboxSession.ts';

/** Arguments that fit the schema of their tool. */
export type Arguments = Readonly<Record<string, unknown>>;

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

const maxFaults = 5;

/** Names of arguments in other agents, which models learned; those in camel case are the same. */
const otherNames: Readonly<Record<string, string>> = {
  cmd: 'command',
  timeout: 'timeout_seconds',
  file: 'path',
  filename: 'path',
  file_path: 'path',
  filepath: 'path',
  old_string: 'old_text',
  old_str: 'old_text',
  new_string: 'new_text',
  new_str: 'new_text',
  content: 'new_text',
  file_text: 'new_text',
  replace_all: 'all',
  query: 'pattern',
  regex: 'pattern',
  summary: 'answer',
  result: 'answer',
};

/**
 * Returns the function that reads a model's arguments of a tool. Numbers in quotes are taken as numbers, and the like; `null`, and an empty
 * text that a field cannot have, as absent; of a tool that does not validate any object is taken. It throws an ArgumentError that names each
 * field, its value, and the expected form.
 */
export function argumentReader({ definition, validates }: Pick<Tool, 'definition' | 'validates'>): (text: string) => Arguments {
  if (validates === false) return (text) => parsed(text, definition);
  // Made for each conversation and tool: compiling JSON Schema's own schema to check ours took 7 ms each time.
  const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: true, verbose: true, meta: false, validateSchema: false });
  const validate = ajv.compile<Arguments>(definition.parameters);
  return (text) => {
    const given = tidy(parsed(text, definition), definition.parameters);
    if (validate(given)) return given;
    throw new ArgumentError(faults(definition, given, validate));
  };
}

function tidy(given: Arguments, { properties = {}, required = [] }: Schema): Record<string, unknown> {
  const tidied: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const snake = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const other = otherNames[snake] ?? snake;
    const name = key in properties || !(other in properties) || other in given || other in tidied ? key : other;
    const schema = properties[name] ?? {};
    const { minLength = 0, pattern } = schema;
    // Some models send every field, absent ones as null or empty.
    const isAbsent = value === null || (value === '' && !required.includes(name) && (minLength > 0 || pattern !== undefined));
    if (!isAbsent) tidied[name] = tidyItems(typeof value === 'string' ? typed(value, schema) : value, schema);
  }
  return tidied;
}

function tidyItems(value: unknown, { items }: Schema): unknown {
  if (items?.properties === undefined || !Array.isArray(value)) return value;
  return value.map((one: unknown) => {
    const fields = typeof one === 'string' ? objectIn(one) : one;
    return typeof fields === 'object' && fields !== null ? tidy(fields as Arguments, items) : one;
  });
}

/** A text as a value that is no text; numbers are for the validator. */
function typed(text: string, { type }: Schema): unknown {
  if (type === 'boolean') return text.toLowerCase();
  if (type !== 'array') return text;
  const value = looseJson(text);
  return Array.isArray(value) ? value : [text];
}

function parsed(text: string, { name, parameters }: ToolDefinition): Record<string, unknown> {
  const object = objectIn(text.trim() === '' ? '{}' : text);
  if (object !== undefined) return object;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ArgumentError(`the arguments of ${name} are not JSON: ${syntaxFault(text, error)}`);
  }
  if (jsonIn(text) === undefined) throw new ArgumentError(`the arguments of ${name} are nested too deeply; send one flat JSON object`);
  const fields = Object.keys((parameters as Schema).properties ?? {}).join(', ') || 'any name';
  throw new ArgumentError(`the arguments of ${name} are ${shown(value)}; send one JSON object with fields of: ${fields}`);
}

function syntaxFault(text: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/end of JSON input|Unterminated/.test(message))
    return `they end in the middle, after ${text.length} characters; send less in one call, for example a smaller edit`;
  if (text.trimStart().startsWith('<'))
    return 'they are tags that do not end, or that hold such tags; send less in one call, or one JSON object with strings escaped';
  const at = Number(/ position (\d+)/.exec(message)?.[1] ?? NaN);
  const near = Number.isNaN(at) ? '' : ` (at …${plain(text.slice(Math.max(0, at - 24), at + 8))}…)`;
  return `${plain(message)}${near}; send one JSON object, with quotes, backslashes and line feeds inside of strings escaped`;
}

function faults({ name, parameters }: ToolDefinition, given: Arguments, { errors }: ValidateFunction): string {
  const found = (errors ?? []).map((error) => fault(error, parameters as Schema, name));
  const unique = [...new Set(found)];
  const more = unique.length > maxFaults ? ` (and ${unique.length - maxFaults} more)` : '';
  const known = Object.keys(given).length === 0 ? `${name} got no arguments: ` : '';
  return `${known}${unique.slice(0, maxFaults).join('; ')}${more}`;
}

function fault(error: ErrorObject, root: Schema, tool: string): string {
  const { keyword, params, data, parentSchema } = error;
  const at = placeOf(error.instancePath);
  const inside = (field: string): string => (at === '' ? field : `${at}.${field}`);
  if (keyword === 'required') {
    const field = String((params as { missingProperty: unknown }).missingProperty);
    return `${inside(field)}: missing; ${expected((parentSchema as Schema).properties?.[field] ?? {})}`;
  }
  if (keyword === 'additionalProperties') {
    const field = String((params as { additionalProperty: unknown }).additionalProperty);
    const known = Object.keys((parentSchema as Schema).properties ?? root.properties ?? {}).join(', ');
    return `${inside(plain(field).slice(0, 64))}: unknown; ${at === '' ? tool : at} takes: ${known || 'no arguments'}`;
  }
  return `${at === '' ? 'the arguments' : at}: ${shown(data)} came; ${expected(parentSchema as Schema)}`;
}

/** `/items/0/state` → `items[0].state`. */
function placeOf(pointer: string): string {
  const [first = '', ...rest] = pointer.split('/').slice(1);
  return rest.reduce((place, part) => (/^\d+$/.test(part) ? `${place}[${part}]` : `${place}.${part}`), first);
}

function expected(schema: Schema): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')} is expected`;
  const { type = 'value', minimum, maximum, minLength = 0, maxLength, maxItems, pattern } = schema;
  const kind = /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
  const bounds = [
    minimum === undefined ? '' : ` from ${minimum} ${maximum === undefined ? 'on' : `to ${maximum}`}`,
    type === 'string' && minLength > 0 ? ' that is not empty' : '',
    type === 'string' && maxLength !== undefined ? `, at most ${maxLength} characters` : '',
    maxItems === undefined ? '' : `, at most ${maxItems} items`,
    pattern === undefined ? '' : ` that matches ${pattern}`,
  ].join('');
  return `${kind}${bounds} is expected`;
}

function shown(value: unknown): string {
  const json = plain(JSON.stringify(value) ?? 'nothing');
  return json.length <= 80 ? json : `${json.slice(0, 79)}… (${json.length} characters)`;
}

/** A path as a model wrote it, below the workspace. @throws ArgumentError for one outside of it */
export function workspacePath(session: SandboxSession, path: string): string {
  const { path: root } = session.root;
  const relative = posix.relative(root, posix.resolve(root, path));
  if (relative !== '..' && !relative.startsWith('../')) return relative;
  const way = path.startsWith('/tmp/')
    ? `bash writes there: command "cat > ${plain(path)}" with the text as stdin`
    : 'give a path below it, such as src/a.py; what lies elsewhere is for bash';
  throw new ArgumentError(`path: ${plain(path)} is outside of the workspace ${root}; ${way}`);
}

/** Words about a path of the tree that looks like one that is not there; empty when there is none. */
export function similarPath(path: string, tree: readonly string[]): string {
  if (tree.includes(path)) return '';
  const name = posix.basename(path).toLowerCase();
  const named = (is: (other: string) => boolean): readonly string[] =>
    tree.filter((one) => is(posix.basename(one).toLowerCase())).toSorted((a, b) => a.length - b.length);
  const [similar = named((other) => isSlip(name, other)).find((one) => posix.dirname(one) === posix.dirname(path))] = named(
    (other) => other === name,
  );
  return similar === undefined ? '' : ` (there is ${plain(similar)})`;
}

/** Reports whether two names differ in one character, or in two neighbours that changed places. */
function isSlip(name: string, other: string): boolean {
  const [long, short] = name.length >= other.length ? [name, other] : [other, name];
  if (long.length - short.length > 1 || short.length < 4) return false;
  let at = 0;
  while (at < short.length && long[at] === short[at]) at += 1;
  const [rest, left] = [long.slice(at), short.slice(at)];
  const isSwapped = rest.slice(0, 2) === `${left[1] ?? ''}${left[0] ?? ''}` && rest.slice(2) === left.slice(2);
  return rest.slice(1) === (long.length === short.length ? left.slice(1) : left) || isSwapped;
}

/** Lines of a text file as a model may see them, without secrets; from 1, both ends included. */
export function linesAt(session: SandboxSession, path: string, from?: number, to?: number): Promise<FileLines> {
  return session.call((keeper) => keeper.readLines(session.absolute(path), from, to));
}

/** Lines of a text file as {@link linesAt} reads them; null for a folder. */
export async function linesOrFolder(session: SandboxSession, path: string, from: number, to: number): Promise<FileLines | null> {
  if (session.roots.includes(path)) return null;
  try {
    return await linesAt(session, path, from, to);
  } catch (error) {
    if (error instanceof KeeperRefusal && error.code === 'AF_FILE_NOT_REGULAR') return null;
    throw error;
  }
}

/** A path anywhere, as a model wrote it: relative ones are below the workspace. */
export function anyPath(session: SandboxSession, path: string): string {
  return posix.resolve(session.root.path, path);
}

/** Returns the path in the form that a model reads best: relative where it is below the workspace. */
export function shownPath(session: SandboxSession, path: string): string {
  const { path: root } = session.root;
  return plain(path === root ? '.' : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path);
}

/** Cures for refusals of a model's request; the keeper's own cures are about its API. */
const cures: Readonly<Record<string, string>> = {
  AF_PATH_OUTSIDE_ROOTS: 'give a path below the workspace; read other files with a command',
  AF_FILE_NOT_FOUND: 'search for it, or list its folder',
  AF_FILE_NOT_REGULAR: 'name a file',
  AF_FILE_BINARY: 'look at it with a command',
  AF_INVALID: 'correct the argument',
  AF_TOO_LARGE: 'look at a part of it with a command, or send less at a time',
  AF_READERS_UNAVAILABLE: 'run it and what uses it in one command',
  AF_QUOTA_EXCEEDED: 'delete what is not needed by edits, or go back with undo',
};

/**
 * Runs a call of the keeper; a refusal of the model's request becomes an ArgumentError with a cure that it can follow.
 *
 * @param hint more words for it
 */
export async function forModel<T>(field: string, call: () => Promise<T>, hint = (): string => ''): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const cure = error instanceof KeeperRefusal ? cures[error.code] : undefined;
    if (cure === undefined) throw error;
    throw new ArgumentError(`${field}: ${wordsOf(error as KeeperRefusal)}${hint()}; ${cure}`);
  }
}

/** Returns a refusal's message, without its code and cure. */
export function wordsOf({ code, message, cure }: KeeperRefusal): string {
  return plain(message.replace(`${code}: `, '').replace(` (${cure})`, ''));
}
