import { existsSync } from 'node:fs';
import { asError } from '@agentfleet/kube';
import { apiOf, credentialOf, recordedServer, startProvider } from '../../../test/provider/provider.ts';
import { begin, recordings, steps, tasksFor } from '../../../test/ui/journey.ts';
import { chromiumPath, openPage, startBrowser } from '../../../test/ui/page.ts';
import type { StorageAccess } from '../../storage/index.ts';
import { account } from './dashboard.ts';
import { bucketOf } from './pools.ts';
import { namespaces, type Stage } from './stage.ts';

const longestMs = 240_000;
const pool = 'journey';
const apiVersion = 'agentfleet.dev/v1alpha1';

/** A pool that asks a model behind an API, with a key and a price: a pod that plays recordings. */
async function openPool({ environment, kubectl }: Stage, storage: StorageAccess): Promise<void> {
  const namespace = namespaces.pools;
  await startProvider({ kubectl, namespace, image: environment.image('agent') }, { program: recordedServer, files: await recordings() });
  const { credentials, ...bucket } = bucketOf(storage);
  const spec = {
    ...bucket,
    credentials: [...credentials, credentialOf({ namespace })],
    allowedNamespaces: { from: 'All' },
    experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api: apiOf({ namespace }) } }],
    gateway: { replicas: 1 },
    workers: { replicas: 1, concurrency: 4 },
  };
  await kubectl.apply({ apiVersion, kind: 'ExpertPool', metadata: { name: pool, namespace }, spec });
  await kubectl.text(['-n', namespace, 'wait', '--for=condition=Ready', `expertpool/${pool}`, '--timeout=180s']);
}

interface Chapter {
  /** Address of the dashboard. */
  readonly dashboard: string;
  readonly storage: StorageAccess;
  readonly title: string;
}

/** A person follows, decides, undoes and starts tasks with a browser and nothing else. False: there is none here, and nothing was done. */
export async function inBrowser(stage: Stage, { dashboard, storage, title }: Chapter): Promise<boolean> {
  if (!existsSync(chromiumPath)) return false;
  const { kubectl, proofs } = stage;
  proofs.chapter(title);
  await openPool(stage, storage);
  const place = { namespace: namespaces.tasks, pool: `${namespaces.pools}/${pool}` };
  const token = (await kubectl.text(['-n', namespaces.tasks, 'create', 'token', account])).trim();
  const browser = await startBrowser();
  try {
    const open = await openPage({ browser, address: dashboard }, begin(place), { token });
    open.page.setDefaultTimeout(longestMs);
    for (const { name, spec } of tasksFor(place.pool))
      await kubectl.apply({ apiVersion, kind: 'AgentTask', metadata: { name, namespace: namespaces.tasks }, spec });
    for (const { title: claim, run } of steps) {
      const fault = await run({ ...place, open }).then(
        () => '',
        (error: unknown) => asError(error).message.split('\n')[0] ?? '',
      );
      proofs.prove(`a person ${claim}`, fault === '', fault);
    }
  } finally {
    await browser.close();
  }
  return true;
}
