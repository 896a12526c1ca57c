import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { child, walk, type Node } from '../../rails/syntax/node.ts';
import { bindingsOf, functionsOf } from './findings.ts';
import type { Surface } from './types.ts';

/** Exports of a module, with argument counts of those known to be functions. */
interface Offer {
  readonly names: ReadonlySet<string>;
  readonly functions: ReadonlyMap<string, number>;
}

/** `Absent`: there is no such module. Null: its exports cannot be known. */
export type Offered = Offer | 'Absent' | null;

/** Text of a file of the workspace as JavaScript, parsed; null where there is none or it does not parse. */
export type ParseFile = (path: string) => Promise<Node | null | 'Missing'>;

const endings = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.mjs', '.cjs', '.jsx', '/index.ts', '/index.js'] as const;
/** TypeScript is imported by the name of its compiled file. */
const compiled: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};

/** Lists the files that a path in an import of JavaScript or TypeScript may denote, the likeliest first. */
export function moduleFiles(base: string): readonly string[] {
  const extension = posix.extname(base);
  const sources = (compiled[extension] ?? []).map((other) => `${base.slice(0, -extension.length)}${other}`);
  return [...endings.map((ending) => `${base}${ending}`), ...sources];
}

const builtins = new Set(builtinModules);

/** Returns the exports of a module that a file imports by name. Packages are not read. */
async function offerOf(name: string, from: string, parse: ParseFile): Promise<Offered> {
  if (name.startsWith('.')) return offerOfFile(posix.join(posix.dirname(from), name), parse);
  const plain = name.replace(/^node:/, '');
  if (!builtins.has(plain) && !builtins.has(name)) return name.startsWith('node:') ? 'Absent' : null;
  // Looked up, not run: a module of the runtime has no text of the workspace in it.
  const module = process.getBuiltinModule(name);
  if (module === undefined) return null;
  return { names: new Set([...Object.getOwnPropertyNames(module), 'default']), functions: new Map() };
}

async function offerOfFile(base: string, parse: ParseFile): Promise<Offered> {
  for (const path of moduleFiles(base)) {
    if (!/\.[cm]?[jt]sx?$/.test(path)) continue;
    const root = await parse(path);
    if (root !== 'Missing') return root === null ? null : exportsOf(root);
  }
  return /\.(?![cm]?[jt]sx?$)\w+$/.test(base) ? null : 'Absent';
}

/** Returns the names that a file exports; null where it re-exports, or is no ES module. */
function exportsOf(root: Node): Offer | null {
  const names = new Set<string>();
  const statements = root.children.filter(({ type }) => type === 'export_statement');
  for (const node of statements) {
    if (node.children.some(({ type, text }) => type === '*' || (type === 'namespace_export' && text === ''))) return null;
    if (node.children.some(({ type }) => type === 'default')) names.add('default');
    for (const name of exported(node)) names.add(name);
  }
  const common = [...walk(root)].some(({ type, text }) => type === 'member_expression' && /^(?:module\.exports|exports\.)/.test(text));
  return common || statements.length === 0 ? null : { names, functions: functionsOf(root, bindingsOf(root)) };
}

function exported(node: Node): readonly string[] {
  const namespace = node.children.find(({ type }) => type === 'namespace_export');
  if (namespace !== undefined) return namespace.children.filter(({ named }) => named).map(({ text }) => text);
  const clause = node.children.find(({ type }) => type === 'export_clause');
  if (clause !== undefined)
    return clause.children.flatMap((one) =>
      one.type === 'export_specifier' ? [(child(one, 'alias') ?? child(one, 'name'))?.text ?? ''] : [],
    );
  const declaration = child(node, 'declaration');
  if (declaration === null) return [];
  const own = child(declaration, 'name');
  if (own !== null) return [own.text];
  return [...bindingsOf(declaration).keys()];
}

/** Most modules that are read for one file. */
const maxModules = 24;

/** Names that test runners, bundlers and browsers give. */
const given = new Set(
  'require module exports arguments undefined globalThis describe it test suite expect assert vi jest before after beforeEach afterEach beforeAll afterAll window document navigator location localStorage sessionStorage alert self process Deno Bun define JSX React __dirname __filename'.split(
    ' ',
  ),
);
const globals = globalThis as unknown as Readonly<Record<string, object | undefined>>;
/** Objects of the language whose members are known. */
const spaces = new Set('Math JSON Object Number Array Promise Reflect String Date Symbol BigInt Atomics Intl'.split(' '));
const prototypes = new Map<string, object>([
  ['string', String.prototype],
  ['template_string', String.prototype],
  ['array', Array.prototype],
  ['Map', Map.prototype],
  ['Set', Set.prototype],
  ['WeakMap', WeakMap.prototype],
  ['WeakSet', WeakSet.prototype],
  ['Array', Array.prototype],
  ['Date', Date.prototype],
]);

/** Returns uses of missing names in a parsed file. Never runs it. */
export async function surfaceOf(root: Node, path: string, parse: ParseFile): Promise<Pick<Surface, 'apiMismatch' | 'brokenNodes'>> {
  const { missing, modules, functions } = await importsOf(root, path, parse);
  const bindings = bindingsOf(root);
  const use: Use = {
    bindings,
    modules,
    functions: new Map([...functionsOf(root, bindings), ...functions]),
    kinds: kindsOf(root, bindings),
  };
  let mismatches = missing;
  for (const node of walk(root)) mismatches += node.type === 'identifier' ? 0 : wrongUse(node, use);
  return { apiMismatch: mismatches + unboundNames(root, bindings), brokenNodes: 0 };
}

interface Use {
  readonly bindings: ReadonlyMap<string, number>;
  /** Modules by the name under which the file has them whole. */
  readonly modules: ReadonlyMap<string, Offer>;
  readonly functions: ReadonlyMap<string, number>;
  /** Prototypes of names that are bound once, to a value whose class its text shows. */
  readonly kinds: ReadonlyMap<string, object>;
}

async function importsOf(root: Node, path: string, parse: ParseFile) {
  const modules = new Map<string, Offer>();
  const functions = new Map<string, number>();
  let missing = 0;
  for (const node of root.children.filter(({ type }) => type === 'import_statement').slice(0, maxModules)) {
    const offered = await offerOf((child(node, 'source')?.text ?? '').slice(1, -1), path, parse);
    if (offered === 'Absent') missing += 1;
    if (offered === null || offered === 'Absent') continue;
    for (const part of walk(node)) {
      if (part.type === 'import_specifier') missing += specify(part, offered, functions);
      if (part.type === 'namespace_import') for (const one of part.children) if (one.type === 'identifier') modules.set(one.text, offered);
      if (part.type !== 'import_clause') continue;
      const whole = part.children.find(({ type }) => type === 'identifier');
      if (whole === undefined) continue;
      if (!offered.names.has('default')) missing += 1;
      // The default of a module of the runtime is the module.
      else if (offered.functions.size === 0 && offered.names.size > 1) modules.set(whole.text, offered);
    }
  }
  return { missing, modules, functions };
}

/** 1 when a name is asked for that a module does not offer. */
function specify(specifier: Node, { names, functions }: Offer, into: Map<string, number>): number {
  const name = child(specifier, 'name')?.text ?? '';
  const most = functions.get(name);
  if (most !== undefined) into.set(child(specifier, 'alias')?.text ?? name, most);
  return names.has(name) ? 0 : 1;
}

/** Returns the prototypes of values whose class their text shows. */
function kindsOf(root: Node, bindings: ReadonlyMap<string, number>): ReadonlyMap<string, object> {
  const found = new Map<string, object>();
  for (const node of walk(root)) {
    const [name, value] = [child(node, 'name')?.text ?? '', child(node, 'value')];
    if (node.type !== 'variable_declarator' || value === null || bindings.get(name) !== 1) continue;
    const kind = prototypes.get(value.type === 'new_expression' ? (child(value, 'constructor')?.text ?? '') : value.type);
    const assigned = [...walk(root)].some((one) => one.type === 'assignment_expression' && child(one, 'left')?.text === name);
    if (kind !== undefined && !assigned) found.set(name, kind);
  }
  return found;
}

/** 1 for a member that is not there, and for a call with more arguments than there are parameters. */
function wrongUse(node: Node, use: Use): number {
  if (node.type === 'member_expression') return wrongMember(node, use);
  if (node.type !== 'call_expression') return 0;
  const called = child(node, 'function');
  const most = called?.type === 'identifier' && (use.bindings.get(called.text) ?? 0) <= 1 ? use.functions.get(called.text) : undefined;
  const given = child(node, 'arguments')?.children.filter(({ named, type }) => named && type !== 'comment') ?? [];
  return most !== undefined && given.length > most && !given.some(({ type }) => type === 'spread_element') ? 1 : 0;
}

function wrongMember(node: Node, { bindings, modules, kinds }: Use): number {
  const [object, property] = [child(node, 'object'), child(node, 'property')?.text ?? ''];
  if (object === null || property === '') return 0;
  const { type, text } = object;
  const module = type === 'identifier' && bindings.get(text) === 1 ? modules.get(text) : undefined;
  if (module !== undefined) return module.names.has(property) ? 0 : 1;
  const kind = type === 'identifier' ? kinds.get(text) : prototypes.get(type);
  if (kind !== undefined) return property in kind ? 0 : 1;
  const space = type === 'identifier' && spaces.has(text) && !bindings.has(text) ? globals[text] : undefined;
  return space === undefined || property in space ? 0 : 1;
}

/** Names that are used and bound nowhere. */
function unboundNames(root: Node, bindings: ReadonlyMap<string, number>): number {
  const used = new Set<string>();
  for (const { type, text } of walk(root)) if (type === 'identifier' || type === 'shorthand_property_identifier') used.add(text);
  // A name exported with an alias is used under its own name.
  return [...used].filter((name) => !bindings.has(name) && !(name in globals) && !given.has(name)).length;
}
