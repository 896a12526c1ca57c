import { listOf } from '@agentfleet/protocol/text';
import { jsonIn } from '../base/text.ts';
import { domainOf } from './languages.ts';
import type { Grammars, SourceChange } from '../rails/index.ts';
import { type ParseFile, surfaceOf } from './javascript/surface.ts';
import { complexityOf, findingsOf, readSource } from './javascript/findings.ts';
import { each, measures, plain, unreported, type SourceFeatures, type Surface } from './javascript/types.ts';
import program from './program.json' with { type: 'json' };

/** A source of Python, with the other files of its change. */
type PythonSource = readonly [path: string, text: string, others: Readonly<Record<string, string>>];

/** Ports for measuring sources: their sandbox, for Python; a parser, for JavaScript; the files around them. */
interface MeasurePorts {
  /** Returns the surfaces of Python sources in their order; null where the sandbox cannot measure. */
  readonly python: (sources: readonly PythonSource[]) => Promise<readonly Surface[] | null>;
  /** Text of a file of the workspace as it is; null where there is none. */
  readonly read: (path: string) => Promise<string | null>;
  readonly grammars: Grammars;
}

/** Longer sources are not measured, characters. */
const maxChars = 65_536;

/**
 * Returns API mismatch, broken places, complexity and findings of a linter of each change, after minus before. A
 * feature that is unknown for one of its files is left out.
 *
 * @example await measureSources([[{ path: 'm.py', before: 'len([])\n', after: 'len([], 1)\n' }]], ports); // [{
 * apiMismatch: 1, brokenNodes: 0, … }]
 */
export async function measureSources(
  changes: readonly (readonly SourceChange[])[],
  ports: MeasurePorts,
): Promise<readonly SourceFeatures[]> {
  const python = new PythonBatch();
  for (const change of changes) for (const one of change) if (domainOf(one.path) === 'python') python.add(one, change);
  await python.run(ports);
  const files = new Map<string, Promise<string | null>>();
  const read = (path: string): Promise<string | null> => {
    const known = files.get(path) ?? ports.read(path);
    files.set(path, known);
    return known;
  };
  return Promise.all(
    changes.map(async (change) => sumOf(await Promise.all(change.map((one) => deltaOf(one, change, python, { ...ports, read }))))),
  );
}

async function deltaOf(one: SourceChange, change: readonly SourceChange[], python: PythonBatch, ports: MeasurePorts): Promise<Surface> {
  const domain = domainOf(one.path);
  if (one.after.length > maxChars || (one.before?.length ?? 0) > maxChars) return unreported;
  const surface = async (text: string, after: boolean): Promise<Surface> => {
    if (domain === 'python') return python.surface(one, after);
    if (domain === 'javascript' || domain === 'typescript') return javascriptSurface(one.path, text, after ? change : [], ports);
    return one.path.endsWith('.json') ? { ...plain, brokenNodes: jsonIn(text) === undefined ? 1 : 0 } : plain;
  };
  const after = await surface(one.after, true);
  const before = one.before === null ? plain : await surface(one.before, false);
  return each((of) => minus(after[of], before[of]));
}

const minus = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a - b);

async function javascriptSurface(
  path: string,
  text: string,
  change: readonly SourceChange[],
  { read, grammars }: MeasurePorts,
): Promise<Surface> {
  const found = readSource(path, text, grammars);
  if (found === null) return unreported;
  if ('broken' in found) return { ...unreported, brokenNodes: found.broken };
  const texts = new Map(change.map(({ path: own, after }) => [own, after]));
  const parse: ParseFile = async (other) => {
    const source = texts.get(other) ?? (await read(other));
    if (source === null) return 'Missing';
    const parsed = source.length > maxChars ? null : readSource(other, source, grammars);
    return parsed !== null && 'root' in parsed ? parsed.root : null;
  };
  const { root } = found;
  return { ...(await surfaceOf(root, path, parse)), complexityDelta: complexityOf(root), lintDelta: findingsOf(root) };
}

function sumOf(deltas: readonly Surface[]): SourceFeatures {
  const sums = each((of) =>
    deltas.reduce<number | null>((total, { [of]: value }) => (total === null || value === null ? null : total + value), 0),
  );
  return Object.fromEntries(Object.entries(sums).filter(([, sum]) => sum !== null));
}

/** All Python sources of a round in one run; equal ones are measured once. */
class PythonBatch {
  readonly #sources = new Map<string, PythonSource>();
  #surfaces: ReadonlyMap<string, Surface> = new Map();

  add({ path, before, after }: SourceChange, change: readonly SourceChange[]): void {
    const others = Object.fromEntries(change.filter((one) => one.path !== path).map((one) => [one.path, one.after]));
    if (before !== null) this.#put(path, before, {});
    this.#put(path, after, others);
  }

  async run({ python }: Pick<MeasurePorts, 'python'>): Promise<void> {
    const sources = [...this.#sources];
    const surfaces = sources.length === 0 ? [] : await python(sources.map(([, source]) => source));
    this.#surfaces = new Map(sources.map(([key], at) => [key, surfaces?.[at] ?? unreported]));
  }

  surface({ path, before, after }: SourceChange, isAfter: boolean): Surface {
    return this.#surfaces.get(`${path}\0${isAfter ? after : (before ?? '')}`) ?? unreported;
  }

  #put(path: string, text: string, others: Readonly<Record<string, string>>): void {
    if (text.length <= maxChars) this.#sources.set(`${path}\0${text}`, [path, text, others]);
  }
}

/** Runs a program in the sandbox; null for one that is missing or failed. */
export type RunProgram = (argv: readonly string[], stdin: string) => Promise<string | null>;

/** Most characters of one question; the standard input of a command takes 1 MiB. */
const maxStdin = 900_000;
const mostCounted = 10_000;

/**
 * Looks at Python sources by the interpreter of their sandbox, which knows its own standard library. Files are parsed, none is run. An
 * answer that is no answer counts as none; a sandbox without Python is not asked again.
 */
export function pythonSurfaces(root: string, run: RunProgram): MeasurePorts['python'] {
  let away = false;
  return async (sources) => {
    if (away) return null;
    const surfaces: Surface[] = [];
    for (const batch of batchesOf(sources)) {
      const answer = await run(['python3', '-IB', '-c', program['api_use.py']], JSON.stringify({ root, sources: batch }));
      const found = answer === null ? null : parsed(answer, batch.length);
      away = found === null;
      if (found === null) return null;
      surfaces.push(...found);
    }
    return surfaces;
  };
}

function batchesOf(sources: readonly PythonSource[]): readonly (readonly PythonSource[])[] {
  const batches: PythonSource[][] = [[]];
  let size = 0;
  for (const source of sources) {
    const own = JSON.stringify(source).length;
    if (size + own > maxStdin) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(source);
    size += own;
  }
  return batches.filter((batch) => batch.length > 0);
}

/** The sandbox is untrusted: anything but a list of counts is no answer. */
function parsed(answer: string, count: number): readonly Surface[] | null {
  const found = jsonIn(answer);
  if (!Array.isArray(found) || found.length !== count) return null;
  return found.map((one: unknown) => each((name) => counted(listOf(one)[measures.indexOf(name)])));
}

const counted = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? Math.min(mostCounted, value) : null;
