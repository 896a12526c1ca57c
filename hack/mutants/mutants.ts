import { losses } from './losses.ts';
import { durable } from './durable.ts';
import { edits } from './edits.ts';
import { evaluations } from './evaluations.ts';
import { energies } from './energies.ts';
import { execs } from './exec.ts';
import { faults } from './faults.ts';
import { foundations } from './foundations.ts';
import { gateways } from './gateway.ts';
import { verifierGates } from './gates.ts';
import { gpus } from './gpus.ts';
import { kubes } from './kube.ts';
import { languageModels } from './languageModels.ts';
import { layers } from './layers.ts';
import { atLimits } from './limits.ts';
import { canaries } from './canaries.ts';
import { placement } from './placement.ts';
import { migs } from './mig.ts';
import { monitoring } from './monitoring.ts';
import { reservation } from './reservation.ts';
import { modelRollouts } from './modelRollouts.ts';
import { rollouts } from './rollouts.ts';
import { shadows } from './shadows.ts';
import { shards } from './shards.ts';
import { tools } from './tools.ts';
import { snapshots } from './snapshots.ts';
import { isolation } from './isolation.ts';
import { operatorCrashes } from './operatorCrash.ts';
import { queues } from './queues.ts';
import { suspensions } from './suspensions.ts';
import { turns } from './turns.ts';
import { turnstiles } from './turnstile.ts';
import { tasksAtScale } from './tasksAtScale.ts';

/** A planted bug: one exact replacement in one file, and the test that must fail because of it. */
export interface Mutant {
  readonly guarantee: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly test:
    { readonly kind: 'vitest'; readonly path: string } | { readonly kind: 'go'; readonly packages: string; readonly run: string };
}

/** One planted bug for each guarantee. */
export const mutants: readonly Mutant[] = [
  ...foundations,
  ...losses,
  ...durable,
  ...edits,
  ...evaluations,
  ...execs,
  ...tools,
  ...snapshots,
  ...isolation,
  ...languageModels,
  ...layers,
  ...kubes,
  ...placement,
  ...canaries,
  ...gpus,
  ...migs,
  ...monitoring,
  ...reservation,
  ...shards,
  ...rollouts,
  ...modelRollouts,
  ...shadows,
  ...verifierGates,
  ...turns,
  ...turnstiles,
  ...suspensions,
  ...queues,
  ...tasksAtScale,
  ...operatorCrashes,
  ...atLimits,
  ...energies,
  ...faults,
  ...gateways,
];
