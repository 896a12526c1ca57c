import { isAbsolute } from 'node:path';
import { ConfigError, reader, type Env } from '@agentfleet/protocol/environment';
import { GoldenArm, goldenEnvironment } from '@agentfleet/protocol/golden';
import { tokenFileVariable } from '@agentfleet/protocol/tokens';
import { Value } from 'typebox/value';

/** What the job works on. */
export interface GoldenConfig {
  readonly arm: GoldenArm;
  readonly role: string;
  /** Orders proposals of equal score. */
  readonly seed: number;
  /** Folder with the files of cases. */
  readonly set: string;
  /** File that the report goes to. */
  readonly report: string;
  /** File with the token that the servers take; null: they are asked without one. */
  readonly tokenFile: string | null;
}

/** @throws ConfigError with all faults */
export function readGoldenConfig(env: Env): GoldenConfig {
  const faults: string[] = [];
  const read = reader(env, faults, 'the PodTemplate, or let the operator make the Job from it');
  const config: GoldenConfig = {
    arm: read(goldenEnvironment.arm, armOf),
    role: read(goldenEnvironment.role, (value) => value),
    seed: read(goldenEnvironment.seed, seedOf),
    set: read('AGENTFLEET_GOLDEN_SET', pathOf, '/golden'),
    report: read('AGENTFLEET_REPORT', pathOf, '/dev/termination-log'),
    tokenFile: read<string | null>(tokenFileVariable, pathOf, null),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function armOf(value: string): GoldenArm {
  const arm: unknown = JSON.parse(value);
  if (!Value.Check(GoldenArm, arm)) throw new Error('it is no revision as the operator writes it; use images of one version');
  return arm;
}

function seedOf(value: string): number {
  const seed = Number(value);
  if (!Number.isInteger(seed) || seed < 0 || seed > 4_294_967_295) throw new Error(`"${value}" is no whole number below 2^32`);
  return seed;
}

function pathOf(value: string): string {
  if (!isAbsolute(value)) throw new Error(`"${value}" is not an absolute path`);
  return value;
}
