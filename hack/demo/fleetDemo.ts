import type { TestEnvironment } from '../environment/index.ts';
import { installFleet } from '../install/index.ts';
import { Kubectl } from '../sandbox/index.ts';
import { installStorage } from '../storage/index.ts';
import { Proofs } from './proofs/proofs.ts';
import { Approver, showDashboard } from './fleet/dashboard.ts';
import { openArtifacts } from './fleet/artifacts.ts';
import { inBrowser } from './fleet/browser.ts';
import { machineEgress } from './fleet/egress.ts';
import { figures } from './fleet/figures.ts';
import { follow, type Timeline } from './fleet/follow.ts';
import { openPools, showParts } from './fleet/pools.ts';
import { example, namespaces, type Stage, type Evidence } from './fleet/stage.ts';
import { stories } from './fleet/stories.ts';

const seconds = 600;

/** The whole fleet: installs it, lets it do seven tasks at once, and proves what became of each. True when all proofs hold. */
export async function fleetDemo(environment: TestEnvironment): Promise<boolean> {
  const proofs = new Proofs();
  const kubectl = new Kubectl(environment.cluster);
  proofs.chapter('1  The fleet: storage, operator, a pool of all roles, its verifier, and two pools that play recordings');
  const storage = await installStorage(environment);
  const egress = await machineEgress();
  await installFleet(environment, { namespace: namespaces.system, values: { egress, dashboard: { enabled: true } } });
  proofs.fact(`helm upgrade --install agentfleet charts/agentfleet --namespace ${namespaces.system}`);
  proofs.fact(`set-up may reach ${egress.registries.length} hosts, taken from this machine's own npm settings`);
  await openPools(kubectl, storage);
  await showParts(kubectl, proofs);
  const dashboard = await showDashboard(kubectl, proofs);
  const artifacts = await openArtifacts(kubectl, storage);
  try {
    const stage: Stage = { environment, kubectl, proofs, artifacts };
    proofs.chapter(`2  All ${stories.length} tasks at once`);
    const timelines = await playAll(stage);
    console.log(`\n${await kubectl.text(['get', 'pods', '-A'])}`);
    const evidence: Evidence[] = [];
    for (const [at, { name, title, tell }] of stories.entries()) {
      const timeline = timelines.get(name);
      if (timeline === undefined) throw new Error(`${name} was never seen; see: kubectl -n ${namespaces.tasks} get agenttasks`);
      proofs.chapter(`${at + 3}  ${title}: ${name}`);
      evidence.push(await tell(stage, timeline));
    }
    const next = stories.length + 3;
    const browsed = await inBrowser(stage, { dashboard, storage, title: `${next}  The same in a browser alone` });
    proofs.chapter(`${browsed ? next + 1 : next}  Figures of this run`);
    await figures(stage, evidence);
  } finally {
    await artifacts.close();
  }
  const holds = proofs.sum();
  console.log(`\n${await kubectl.text(['-n', namespaces.tasks, 'get', 'aft', '-o', 'wide'])}`);
  return holds;
}

/** Applies all tasks as a user would and follows them to their ends. */
async function playAll(stage: Stage): Promise<ReadonlyMap<string, Timeline>> {
  const { environment, kubectl } = stage;
  const names = stories.map(({ name }) => name);
  const files = names.flatMap((name) => ['-f', example(`${name}.yaml`)]);
  console.log(`     kubectl apply ${names.map((name) => `-f examples/${name}.yaml`).join(' ')}`);
  const approver = await Approver.open(stage);
  try {
    const timelines = await follow({
      cluster: environment.cluster,
      namespace: namespaces.tasks,
      names,
      apply: async () => {
        await kubectl.text(['apply', '--validate=strict', ...files]);
      },
      onState: (task) => approver.see(task),
      signal: AbortSignal.timeout(seconds * 1000),
    });
    await approver.settled();
    return timelines;
  } finally {
    await approver.close();
  }
}
