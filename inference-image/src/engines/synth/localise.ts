import type { Spectrum } from '@agentfleet/protocol/inference';

/** Suspicion of a line: `ochiai` 0…1, `dstar` ≥ 0 (may be Infinity) to break ties. */
interface Suspicion {
  readonly ochiai: number;
  readonly dstar: number;
}

/** Suspicion of a line by the counts of the tests that executed it. */
interface LineSuspicion {
  /** Lines that no test counted: null. */
  at(path: string, line: number): Suspicion | null;
  /** For code that every test runs, such as the module's own statements. */
  readonly everywhere: Suspicion;
  /** False when the request reported of no failing test's coverage. */
  readonly known: boolean;
}

/**
 * Ochiai: ef / √((ef + nf)(ef + ep)). R. Abreu, P. Zoeteweij, A. van Gemund, "On the Accuracy of
 * Spectrum-based Fault Localization", TAICPART-MUTATION 2007.
 *
 * @param failed failing tests that executed the line (ef)
 * @param passed passing tests that executed it (ep)
 * @param totalFailed all failing tests (ef + nf)
 */
export function ochiai(failed: number, passed: number, totalFailed: number): number {
  const divisor = Math.sqrt(totalFailed * (failed + passed));
  return divisor === 0 ? 0 : failed / divisor;
}

/**
 * DStar with exponent 2: ef² / (ep + nf). W. E. Wong, V. Debroy, R. Gao, Y. Li, "The DStar Method
 * for Effective Software Fault Localization", IEEE Transactions on Reliability 63(1), 2014.
 */
export function dstar(failed: number, passed: number, totalFailed: number): number {
  if (failed === 0) return 0;
  const divisor = passed + (totalFailed - failed);
  return divisor === 0 ? Infinity : failed ** 2 / divisor;
}

export function suspicionOf(spectrum: Spectrum): LineSuspicion {
  const files = new Map<string, Map<number, Suspicion>>();
  for (const { path, line, passed, failed } of spectrum.lines) {
    const lines = files.get(path) ?? new Map<number, Suspicion>();
    files.set(path, lines);
    lines.set(line, { ochiai: ochiai(failed, passed, spectrum.failed), dstar: dstar(failed, passed, spectrum.failed) });
  }
  return {
    at: (path, line) => files.get(path)?.get(line) ?? null,
    everywhere: {
      ochiai: ochiai(spectrum.failed, spectrum.passed, spectrum.failed),
      dstar: dstar(spectrum.failed, spectrum.passed, spectrum.failed),
    },
    known: spectrum.failed > 0 && spectrum.lines.some((line) => line.failed > 0),
  };
}

/** Lines named in the traces of failing tests, by path; the last of a trace weighs most. */
export type TraceLines = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** Ranks of an unlocalised request: every line alike. */
const unknown: Suspicion = { ochiai: 0.5, dstar: 1 };
/** A line that only passing tests ran may still matter, for example where a value is made. */
export const unreached = 0.02;
const traceBoost = 0.6;
/** Number of failure texts; the end of a trace is the most informative. */
const maxTexts = 128;
const maxTextChars = 16_384;

export interface SiteLines {
  readonly path: string;
  /** First and last line, from 1. */
  readonly from: number;
  readonly to: number;
  /** True when it is outside of every function: it runs for every test. */
  readonly global: boolean;
}

/**
 * Suspicion of a statement: that of its most suspicious line. DStar breaks the ties of Ochiai with
 * a share of less than a hundredth.
 */
export function siteSuspicion(site: SiteLines, lines: LineSuspicion, traces: TraceLines): number {
  const base = lines.known ? strongest(site, lines) : unknown;
  const tie = base.dstar === Infinity ? 1 : base.dstar / (base.dstar + 1);
  let trace = 0;
  for (let line = site.from; line <= site.to; line += 1) trace = Math.max(trace, traces.get(site.path)?.get(line) ?? 0);
  return Math.max(unreached, base.ochiai + 0.009 * tie) * (1 + traceBoost * trace);
}

function strongest(site: SiteLines, lines: LineSuspicion): Suspicion {
  let best: Suspicion | null = null;
  for (let line = site.from; line <= site.to; line += 1) {
    const here = lines.at(site.path, line);
    if (here !== null && (best === null || here.ochiai > best.ochiai)) best = here;
  }
  if (best !== null && !(site.global && best.ochiai === 0)) return best;
  return site.global ? lines.everywhere : (best ?? { ochiai: 0, dstar: 0 });
}

/** `File "…/path", line 12` of Python, or `path:12`, also as `file:///path:12:5`, of others. */
const place = /File "([^"\n]{1,500})", line (\d{1,7})|(?<![^\s"'(])(?:file:\/\/)?([^\s"':(]{1,500}):(\d{1,7})\b/g;

/** Finds the places of the focus files that texts of failures name. */
export function traceLines(texts: readonly string[], paths: readonly string[]): TraceLines {
  const found = new Map<string, Map<number, number>>();
  for (const text of texts.slice(0, maxTexts).map((whole) => whole.slice(-maxTextChars))) {
    const ours = frames(text).flatMap((frame) => {
      const file = frame[1] ?? frame[3] ?? '';
      const path = paths.find((known) => file === known || file.endsWith(`/${known}`));
      return path === undefined ? [] : [{ path, line: Number(frame[2] ?? frame[4]) }];
    });
    for (const [at, { path, line }] of ours.entries()) {
      const lines = found.get(path) ?? new Map<number, number>();
      found.set(path, lines);
      lines.set(line, Math.max(lines.get(line) ?? 0, (at + 1) / ours.length));
    }
  }
  return found;
}

/** Places in a text, the innermost call last: Python's traces end with it, those of Node begin with it. */
function frames(text: string): readonly RegExpExecArray[] {
  const places = text.split('\n').map((line) => ({ isNode: /^\s*at /.test(line), found: [...line.matchAll(place)] }));
  const of = (isNode: boolean): RegExpExecArray[] => places.filter((line) => line.isNode === isNode).flatMap((line) => line.found);
  return [...of(false), ...of(true).reverse()];
}

/** Fault localisation: suspicion of lines from a spectrum, and of statements from lines and traces. */
