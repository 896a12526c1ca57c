/**
 * The capabilities of a server: one file each, and one line here. Routes are in `http`, which imports this. May import
 * `queue`, `base` and `protocol`; no engine.
 */
import type { CapabilityModule } from './capability.ts';
import { control } from './control.ts';
import { embed } from './embed.ts';
import { generate } from './generate.ts';
import { judge } from './judge.ts';
import { prior } from './prior.ts';
import { score } from './score.ts';

export type { CapabilityModule, Service } from './capability.ts';

export const capabilityModules: readonly CapabilityModule[] = [generate, prior, control, score, embed, judge];
