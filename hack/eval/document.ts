// hack, eval: tables of measurements in docs/benchmarks.md. May import any package.
import { format, resolveConfig } from 'prettier';
import { measuredOf, type Measured } from './measured.ts';
import { stepsOf, type EvalStep } from './plan.ts';
import { tableOf, withTable } from './tables.ts';

/** Steps by table; one that is in both plans counts once. */
export function stepsByTable(): ReadonlyMap<string, readonly EvalStep[]> {
  const steps = new Map([...stepsOf(false), ...stepsOf(true)].map((step) => [step.name, step]));
  const tables = Map.groupBy(steps.values(), ({ table }) => table ?? '');
  tables.delete('');
  return tables;
}

/** Returns the document with the tables of all measurements, formatted like the repository. */
export async function rewritten(document: string, file: string): Promise<string> {
  let text = document;
  for (const [table, steps] of stepsByTable()) {
    const measured = (await Promise.all(steps.map(measuredOf))).filter((one): one is Measured => one !== undefined);
    if (measured.length > 0) text = withTable(text, table, tableOf(measured));
  }
  return format(text, { ...(await resolveConfig(file)), filepath: file });
}
