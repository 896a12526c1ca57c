import type { MeasurePorts, PythonSource } from './measure.ts';
import program from './program.json' with { type: 'json' };
import { untold, type Surface } from './types.ts';

/** What runs a program in the sandbox; null for one that is not there or failed. */
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

/** The sandbox is not believed: what is no list of counts is no answer. */
function parsed(answer: string, count: number): readonly Surface[] | null {
  let found: unknown;
  try {
    found = JSON.parse(answer);
  } catch {
    return null;
  }
  if (!Array.isArray(found) || found.length !== count) return null;
  return found.map((one: unknown) => {
    if (!Array.isArray(one)) return untold;
    const [mismatches, broken, complexity, findings] = (one as readonly unknown[]).map(counted);
    return {
      ...untold,
      mismatches: mismatches ?? null,
      broken: broken ?? null,
      complexity: complexity ?? null,
      findings: findings ?? null,
    };
  });
}

const counted = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? Math.min(mostCounted, value) : null;
