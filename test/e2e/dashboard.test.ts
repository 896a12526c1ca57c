// A platform engineer with nothing but a browser, before a fleet that works: follows, understands a refusal, decides, answers, undoes,
// starts, and finds out where models run and what they cost. In long runs; pictures stay in test/.output/ui.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kubeconfigConfig } from '@agentfleet/kube';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { findMissingPackages, installPackages } from '../../hack/cluster/index.ts';
import { repository } from '../../hack/images/parts.ts';
import { recordings } from '../sandbox/conversationBed.ts';
import { scenarios } from '../sandbox/conversations.ts';
import { type OpenPage, openPage, pageServer, startBrowser } from '../ui/bed.ts';
import { browserPackages } from '../ui/packages.ts';
import { type Fleet, useFleet } from './fleet.ts';
import { apiOf, providerPool, startProvider } from './providerPod.ts';

const played = ['ask', 'protected', 'rename'] as const;
const longest = 240_000;

async function provider(fleet: Fleet): Promise<void> {
  const files = await Promise.all(played.map(async (name) => [`${name}.json`, await readFile(join(recordings, `${name}.json`), 'utf8')]));
  await startProvider(fleet, { program: 'recordedServer.ts', files: Object.fromEntries(files) as Record<string, string> });
}

/** Applies a recorded task, as a user would by kubectl. */
async function submit(fleet: Fleet, scenario: (typeof played)[number], name: string): Promise<void> {
  const found = scenarios.find((one) => one.name === scenario);
  if (found === undefined) throw new Error(`there is no scenario ${scenario}`);
  const { goal, files, checks, spec } = found;
  const inline = { files: Object.entries(files).map(([path, content]) => ({ path, content })) };
  const workspace = { type: 'Inline', inline };
  await fleet.apply('AgentTask', name, { poolRef: { name: 'chat' }, goal, workspace, checks, attempts: { max: 1 }, ...spec });
}

/** The token of a ServiceAccount that may look, decide and write tasks in the namespace, and nothing else. */
async function visitor(fleet: Fleet): Promise<string> {
  const { kubectl, namespace } = fleet;
  await kubectl.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'visitor', namespace } });
  for (const name of ['agentfleet-viewer', 'agentfleet-editor', 'agentfleet-approver'])
    await kubectl.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: `visitor-${name}`, namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: 'visitor', namespace }],
    });
  return (await fleet.run('create', 'token', 'visitor')).trim();
}

describe.skipIf(process.env['AGENTFLEET_FULL'] !== '1')('in the browser alone', () => {
  const fleet = useFleet('browser', { before: provider });
  let close: (() => Promise<void>)[] = [];
  let open: OpenPage;

  beforeAll(async () => {
    await installPackages(await findMissingPackages(browserPackages), console.log);
    await execa('npm', ['run', 'build', '--silent', '-w', '@agentfleet/dashboard'], { cwd: repository });
    await providerPool(fleet, 'chat', { experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api: apiOf(fleet) } }] });
    const { kubeconfig, context } = inject('fleet');
    const app = await pageServer(await kubeconfigConfig({ file: kubeconfig, context }));
    close = [() => app.close()];
    const browser = await startBrowser();
    close = [() => browser.close(), ...close];
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const token = await visitor(fleet);
    open = await openPage({ browser, address }, `/?in=${fleet.namespace}`, { token });
    open.page.setDefaultTimeout(longest);
    for (const name of played) await submit(fleet, name, name);
    await submit(fleet, 'rename', 'rename-again');
  }, 900_000);
  afterAll(async () => {
    for (const end of close) await end();
  });

  const go = async (name: string, tab = ''): Promise<void> => {
    await open.page.goto(`/tasks/${fleet.namespace}/${name}?in=${fleet.namespace}${tab === '' ? '' : `&tab=${tab}`}`);
    await open.page.getByRole('heading', { name, exact: true }).waitFor();
  };
  const phase = (text: string): Promise<void> => open.page.locator('.task-head .badge', { hasText: text }).waitFor();

  test(
    'a person follows the fleet live',
    async () => {
      const row = open.page.locator('.line', { hasText: 'protected' });
      await row.waitFor();
      await row
        .getByText(/Running|Verifying|Succeeded/)
        .first()
        .waitFor();
      await open.shot('journey-1-fleet');
    },
    longest,
  );

  test(
    'understands what was denied, and by which rule',
    async () => {
      await go('protected');
      await open.sees('Refused by rule');
      await open.shot('journey-2-denied');
      await phase('Succeeded');
    },
    longest,
  );

  test(
    'answers a question',
    async () => {
      await go('ask');
      await open.page.getByLabel('Your answer').fill('Swiss francs, please.');
      await open.shot('journey-3-question');
      await open.page.getByRole('button', { name: 'Answer' }).click();
      await phase('Succeeded');
      await open.page.getByRole('tab', { name: /Change/ }).click();
      await open.sees(/CHF/);
    },
    longest,
  );

  test(
    'undoes one that changed files, after a look at what goes',
    async () => {
      await go('rename-again');
      await open.page.getByRole('button', { name: 'Accept' }).waitFor();
      await open.page.getByRole('button', { name: 'Cancel and restore' }).click();
      const dialog = open.page.getByRole('dialog');
      await dialog.getByText('put back shapes.py').waitFor();
      await open.shot('journey-4-undo');
      await dialog.getByRole('button', { name: 'Cancel and restore' }).click();
      await phase('Cancelled');
      await open.page.getByRole('tab', { name: 'Timeline' }).click();
      await open.sees('verified by its hash');
      await open.shot('journey-5-restored');
    },
    longest,
  );

  test(
    'approves one, with the evidence beside the button',
    async () => {
      await go('rename');
      await open.sees('Why it is held');
      await open.shot('journey-6-review');
      await open.page.getByRole('button', { name: 'Accept' }).click();
      await open.page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
      await phase('Succeeded');
      await open.page.getByRole('tab', { name: 'Timeline' }).click();
      await open.page
        .getByRole('button', { name: /What changed since/ })
        .first()
        .click();
      await open.shot('journey-7-timeline');
    },
    longest,
  );

  test(
    'starts one',
    async () => {
      await open.page.goto(`/new?in=${fleet.namespace}`);
      const { page } = open;
      await page.getByLabel('Goal').fill('Write down in README.md what this folder is for.');
      await page.getByLabel('Name', { exact: true }).fill('started-here');
      await page.getByLabel('Namespace', { exact: true }).fill(fleet.namespace);
      await page.getByLabel('Checks').fill('test -s README.md');
      await page.getByLabel('Pool').selectOption(`${fleet.namespace}/chat`);
      await page.getByRole('button', { name: 'Apply', exact: true }).click();
      await page.getByRole('heading', { name: 'started-here' }).waitFor();
      // A worker takes it; what becomes of it no recording has.
      await page
        .locator('.fact', { hasText: 'Worker' })
        .getByText(/chat-workers/)
        .waitFor();
      await open.shot('journey-8-started');
    },
    longest,
  );

  test(
    'says where each model runs, and what it cost',
    async () => {
      await open.page.goto(`/pools?in=${fleet.namespace}`);
      await open.sees(/recorded at provider\./);
      const cost = open.page
        .getByRole('region', { name: `${fleet.namespace}/chat` })
        .locator('dl.facts div', { hasText: 'Cost' })
        .locator('dd');
      await expect.poll(async () => Number(await cost.textContent()), { timeout: longest }).toBeGreaterThan(0);
      await open.shot('journey-9-pools');
      expect(open.faults).toEqual([]);
    },
    longest,
  );
});
