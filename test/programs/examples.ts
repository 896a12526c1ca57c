// test, programs: agent programs of `examples/harness`, parsed. May import any package.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';

export const programNames = ['mini-swe-agent', 'gptme', 'codex', 'claude-code'] as const;
export type ProgramName = (typeof programNames)[number];

/** Inputs of an example for its program. */
export interface Example {
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly install: { readonly command: readonly string[] };
  readonly api: string;
}

/** The program of a pool below `examples/harness`, as a user applies it. */
export async function exampleOf(name: ProgramName): Promise<Example> {
  const text = await readFile(join(import.meta.dirname, `../../examples/harness/${name}.yaml`), 'utf8');
  const { spec } = load(text) as { spec: { experts: readonly { engine: { harness: Example } }[] } };
  const harness = spec.experts[0]?.engine.harness;
  if (harness === undefined) throw new Error(`examples/harness/${name}.yaml holds no agent program`);
  return harness;
}
