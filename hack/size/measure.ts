// hack, size: size and import circles of a commit's sources. May import any package.
import { posix } from 'node:path';
import { load } from 'js-yaml';

/** A tracked file of one commit. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Totals of a commit's sources and schemas. */
export interface Size {
  readonly files: number;
  readonly lines: number;
  /** Lines of the file in the middle, by length. */
  readonly medianFile: number;
  /** Lines by package, without tests. */
  readonly packages: ReadonlyMap<string, number>;
  /** Leaf fields of `spec` and `status`, by kind. */
  readonly fields: ReadonlyMap<string, number>;
  /** Groups of files that import each other, types included. */
  readonly fileCircles: readonly (readonly string[])[];
  /** Groups of folders that import each other. */
  readonly folderCircles: readonly (readonly string[])[];
}

const schemaFile = /^crds\/agentfleet\.dev_.*\.yaml$/u;

/** Reports whether a path is a source without tests, test beds, test data and packs of tasks. */
export function isSource(path: string): boolean {
  return /\.(?:tsx?|go)$/u.test(path) && !/\.test\.ts$|_test\.go$|(?:^|\/)(?:testing|testdata|packs|node_modules)\//u.test(path);
}

/** Reports whether `measure` reads a path at all. */
export function isMeasured(path: string): boolean {
  return isSource(path) || schemaFile.test(path);
}

/** Measures the files of one commit. Pure. */
export function measure(files: readonly SourceFile[]): Size {
  const sources = files.filter(({ path }) => isSource(path)).map((file) => ({ ...file, lines: file.text.split('\n').length - 1 }));
  const lengths = sources.map(({ lines }) => lines).sort((a, b) => a - b);
  const packages = new Map<string, number>();
  for (const { path, lines } of sources) {
    const name = packageOf(path);
    packages.set(name, (packages.get(name) ?? 0) + lines);
  }
  const imports = importsOf(sources);
  return {
    files: sources.length,
    lines: lengths.reduce((sum, each) => sum + each, 0),
    medianFile: lengths[lengths.length >> 1] ?? 0,
    packages,
    fields: new Map(files.filter(({ path }) => schemaFile.test(path)).map(({ text }) => fieldsOf(text))),
    fileCircles: circles(imports),
    folderCircles: circles(foldersOf(imports)),
  };
}

/** Returns the folder at the top; `operator/kube`, `operator/test`, the runner and training code count separately. */
export function packageOf(path: string): string {
  const [top = '', below] = path.split('/');
  if (!path.includes('/')) return '(top)';
  return top !== 'hack' && ['train', 'kube', 'runner', 'test'].includes(below ?? '') ? `${top}/${below}` : top;
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

function fieldsOf(text: string): [kind: string, leaves: number] {
  const crd = load(text) as {
    spec: { names: { kind: string }; versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  const { spec, status } = crd.spec.versions[0]?.schema.openAPIV3Schema.properties ?? {};
  return [crd.spec.names.kind, leaves(spec ?? {}) + leaves(status ?? {})];
}

/** Counts leaves of a schema: fields without fields of their own; lists and maps count by their elements. */
function leaves(schema: Schema): number {
  const inner = schema.items ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
  const below = Object.values(schema.properties ?? {});
  if (below.length > 0) return below.reduce((sum, each) => sum + Math.max(1, leaves(each)), 0);
  return inner === undefined ? 0 : leaves(inner);
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Returns the sources that each source imports, by relative paths; dynamic imports do not count. */
export function importsOf(sources: readonly SourceFile[]): Graph {
  const known = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map(({ path, text }) => {
      const targets = [...text.matchAll(/^(?:import|export|\})[^'\n]*from '(?<to>\.[^']+)'/gmu)];
      const resolved = targets.map((match) => posix.join(posix.dirname(path), match.groups?.['to'] ?? ''));
      return [path, new Set(resolved.filter((each) => known.has(each)))];
    }),
  );
}

function foldersOf(imports: Graph): Graph {
  const folders = new Map<string, Set<string>>();
  for (const [path, targets] of imports) {
    const from = posix.dirname(path);
    const known = folders.get(from) ?? new Set();
    for (const target of targets) if (posix.dirname(target) !== from) known.add(posix.dirname(target));
    folders.set(from, known);
  }
  return folders;
}

/** The strongly connected groups of two and more, by Kosaraju's algorithm, each and all in order. */
export function circles(graph: Graph): string[][] {
  const order: string[] = [];
  walk(graph.keys(), graph, (node) => order.push(node));
  const back = new Map<string, Set<string>>([...graph.keys()].map((node) => [node, new Set()]));
  for (const [node, targets] of graph) for (const target of targets) back.get(target)?.add(node);
  const seen = new Set<string>();
  const groups = order.reverse().map((node) => {
    const group: string[] = [];
    walk([node], back, (each) => group.push(each), seen);
    return group.sort();
  });
  return groups.filter(({ length }) => length > 1).sort((a, b) => b.length - a.length);
}

/** Visits reachable nodes, each once and after those it reaches; without recursion, because chains are long. */
function walk(from: Iterable<string>, graph: Graph, leave: (node: string) => void, seen = new Set<string>()): void {
  for (const root of from) {
    const stack: { node: string; left: boolean }[] = [{ node: root, left: false }];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (at.left) leave(at.node);
      if (at.left || seen.has(at.node)) continue;
      seen.add(at.node);
      stack.push({ node: at.node, left: true });
      for (const target of graph.get(at.node) ?? []) if (!seen.has(target)) stack.push({ node: target, left: false });
    }
  }
}

/** A Markdown table: a row for each figure, a column for each commit. */
export function table(columns: ReadonlyMap<string, Size>): string {
  const sizes = [...columns.values()];
  const names = (of: (size: Size) => ReadonlyMap<string, number>): string[] =>
    [...new Set(sizes.flatMap((size) => [...of(size).keys()]))].sort();
  const row = (name: string, of: (size: Size) => number): string =>
    `| ${[name, ...sizes.map((size) => of(size).toLocaleString('en'))].join(' | ')} |`;
  const total = (map: ReadonlyMap<string, number>): number => [...map.values()].reduce((sum, each) => sum + each, 0);
  return [
    `| | ${[...columns.keys()].join(' | ')} |`,
    `|---|${'---:|'.repeat(sizes.length)}`,
    row('files without tests', ({ files }) => files),
    row('lines without tests', ({ lines }) => lines),
    row('median file (lines)', ({ medianFile }) => medianFile),
    ...names(({ packages }) => packages).map((name) => row(`lines of ${name}`, ({ packages }) => packages.get(name) ?? 0)),
    row('leaf fields', ({ fields }) => total(fields)),
    ...names(({ fields }) => fields).map((name) => row(`leaf fields of ${name}`, ({ fields }) => fields.get(name) ?? 0)),
    row('circles of files', ({ fileCircles }) => fileCircles.length),
    row('circles of folders', ({ folderCircles }) => folderCircles.length),
    row('folders in circles', ({ folderCircles }) => folderCircles.flat().length),
  ].join('\n');
}
