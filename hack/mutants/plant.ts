// hack, mutants: insertion of a bug into a function found by name. May import any package.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** A bug that breaks one promise, planted in a function that is found by its name; the test must fail because of it. */
export interface PlantedBug {
  /** Loss of users when the function fails. */
  readonly promise: string;
  /** Folder below which the function is; its name must be there once. */
  readonly folder: string;
  /** `function`, `Class.method`, or the name of a Go function. */
  readonly symbol: string;
  /** `{first}`: statements put before all others. `{without}`: the statement that calls this function is removed. */
  readonly bug: { readonly first: string } | { readonly without: string };
  /** Path that vitest is given, or for Go the packages and a pattern of tests, `./internal/link TestName`. */
  readonly test: string;
}

/** A file with the bug in it. */
export interface Planted {
  readonly file: string;
  readonly text: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}
type Visit = (node: Node & Readonly<Record<string, unknown>>, owner: string) => void;

const isNode = (value: unknown): value is Node & Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';
const nameOf = (value: unknown): string => (isNode(value) && typeof value['name'] === 'string' ? value['name'] : '');
const keyOf = (value: unknown): string => (isNode(value) && value.type === 'PrivateIdentifier' ? '#' : '') + nameOf(value);

function walk(value: unknown, visit: Visit, owner = ''): void {
  if (Array.isArray(value)) for (const one of value) walk(one, visit, owner);
  if (!isNode(value)) return;
  visit(value, owner);
  const inside = value.type === 'ClassDeclaration' ? nameOf(value['id']) : owner;
  for (const [key, child] of Object.entries(value)) if (key !== 'parent') walk(child, visit, inside);
}

/** The bodies of functions of a TypeScript file that have the name, as blocks of its syntax tree. */
function bodiesOf(text: string, symbol: string): readonly Node[] {
  const found: Node[] = [];
  walk(parseAst(text, { lang: 'ts' }), (node, owner) => {
    const method = node.type === 'MethodDefinition';
    const holder = method ? node['value'] : node.type === 'VariableDeclarator' ? node['init'] : node;
    const name = method ? `${owner}.${keyOf(node['key'])}` : nameOf(node['id']);
    if (name !== symbol || !isNode(holder) || !isNode(holder['body']) || holder['body'].type !== 'BlockStatement') return;
    found.push(holder['body']);
  });
  return found;
}

/** The name of the function that a statement calls, `''` for other statements. */
function callee(statement: Readonly<Record<string, unknown>>): string {
  let called = statement['expression'];
  while (isNode(called) && (called.type === 'AwaitExpression' || called.type === 'UnaryExpression')) called = called['argument'];
  if (!isNode(called) || called.type !== 'CallExpression') return '';
  const target = called['callee'];
  return isNode(target) && target.type === 'MemberExpression' ? keyOf(target['property']) : nameOf(target);
}

function inTypeScript(text: string, { symbol, bug }: PlantedBug): readonly string[] {
  return bodiesOf(text, symbol).map((body) => {
    if ('first' in bug) return `${text.slice(0, body.start + 1)} ${bug.first} ${text.slice(body.start + 1)}`;
    const calls: Node[] = [];
    walk(body, (node) => {
      if (node.type === 'ExpressionStatement' && callee(node) === bug.without) calls.push(node);
    });
    const [call] = calls;
    if (call === undefined || calls.length > 1) throw new Error(`${symbol} calls ${bug.without} ${calls.length} times, not once`);
    return `${text.slice(0, call.start)};${text.slice(call.end)}`;
  });
}

function inGo(text: string, { symbol, bug }: PlantedBug): readonly string[] {
  if (!('first' in bug)) throw new Error(`${symbol}: bugs of Go functions are statements put first`);
  const heads = [...text.matchAll(new RegExp(String.raw`^func (?:\([^)]*\) )?${symbol}\([^\n]*? \{`, 'gm'))];
  return heads.map(({ index, 0: head }) => `${text.slice(0, index + head.length)} ${bug.first}${text.slice(index + head.length)}`);
}

/** Finds the function of a bug below `root` and puts the bug into it. @throws Error when it is not there exactly once */
export function plant(root: string, bug: PlantedBug): Planted {
  const word = bug.symbol.split('.').at(-1) ?? '';
  const files = globSync(`${bug.folder}/**/*.{ts,go}`, { cwd: root, exclude: (path) => path.endsWith('node_modules') });
  const sources = files.filter((file) => !/\.test\.ts$|_test\.go$/.test(file));
  const planted = sources.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    if (!text.includes(word)) return [];
    return (file.endsWith('.go') ? inGo(text, bug) : inTypeScript(text, bug)).map((changed) => ({ file, text: changed }));
  });
  const [only] = planted;
  if (only === undefined || planted.length > 1)
    throw new Error(`${bug.symbol} is ${planted.length} times below ${bug.folder}, not once: correct test/mutants.md`);
  return only;
}

const cell = /^`(.*)`$/;

/** @throws Error that quotes a row which is not `| promise | \`symbol\` in \`folder\` | \`first: …\` or \`without: …\` | \`test\` |` */
function bugOf(row: string): PlantedBug {
  const [promise = '', where = '', bug = '', test = ''] = row
    .split('|')
    .slice(1, -1)
    .map((one) => one.trim());
  const [, symbol, folder] = /^`([\w.#]+)` in `([\w/-]+)`$/.exec(where) ?? [];
  const [, kind, text] = /^(first|without): (.+)$/.exec(cell.exec(bug)?.[1] ?? '') ?? [];
  const run = cell.exec(test)?.[1]?.replaceAll(',', '|');
  if (symbol === undefined || folder === undefined || text === undefined || run === undefined)
    throw new Error(`not a row of planted bugs: ${row}`);
  return { promise, folder, symbol, bug: kind === 'first' ? { first: text } : { without: text }, test: run };
}

/** The rows of test/mutants.md. */
export function plantedBugs(root: string): readonly PlantedBug[] {
  const lines = readFileSync(`${root}test/mutants.md`, 'utf8').split('\n');
  return lines.filter((line) => /^\| (?!Promise)/.test(line)).map(bugOf);
}
