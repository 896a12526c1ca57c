import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { child, walk, type Node } from '../../rails/syntax/node.ts';
import { bindingsOf, functionsOf } from './bindings.ts';

/** What a module offers: its names, with how many arguments those take that are known to be functions. */
export interface Offer {
  readonly names: ReadonlySet<string>;
  readonly functions: ReadonlyMap<string, number>;
}

/** `Absent`: there is no such module. Null: it cannot be told what it offers. */
export type Offered = Offer | 'Absent' | null;

/** Text of a file of the workspace as JavaScript, parsed; null where there is none or it does not parse. */
export type ParseFile = (path: string) => Promise<Node | null | 'Missing'>;

const endings = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.mjs', '.cjs', '.jsx', '/index.ts', '/index.js'];
const compiled = new Map([
  ['.js', ['.ts', '.tsx']],
  ['.mjs', ['.mts']],
  ['.cjs', ['.cts']],
  ['.jsx', ['.tsx']],
]);
const builtins = new Set(builtinModules);

/** What a module offers, as a file asks for it by name. Packages are not looked into. */
export async function offerOf(name: string, from: string, parse: ParseFile): Promise<Offered> {
  if (name.startsWith('.')) return offerOfFile(posix.join(posix.dirname(from), name), parse);
  const plain = name.replace(/^node:/, '');
  if (!builtins.has(plain) && !builtins.has(name)) return name.startsWith('node:') ? 'Absent' : null;
  // Looked up, not run: a module of the runtime has no text of the workspace in it.
  const module = process.getBuiltinModule(name);
  if (module === undefined) return null;
  return { names: new Set([...Object.getOwnPropertyNames(module), 'default']), functions: new Map() };
}

async function offerOfFile(base: string, parse: ParseFile): Promise<Offered> {
  const extension = posix.extname(base);
  const others = (compiled.get(extension) ?? []).map((other) => `${base.slice(0, -extension.length)}${other}`);
  for (const path of [...endings.map((ending) => `${base}${ending}`), ...others]) {
    if (!/\.[cm]?[jt]sx?$/.test(path)) continue;
    const root = await parse(path);
    if (root !== 'Missing') return root === null ? null : exportsOf(root);
  }
  return /\.(?![cm]?[jt]sx?$)\w+$/.test(base) ? null : 'Absent';
}

/** Names that a file exports; null where it hands on what others export, or is no module of the standard. */
export function exportsOf(root: Node): Offer | null {
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
