// The journey through the dashboard before the fleet of e2e, in long runs; `npm run demo` makes the same one where a browser is there.
import { kubeconfigConfig } from '@agentfleet/kube';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, inject, test } from 'vitest';
import { findMissingPackages, installPackages } from '../../hack/cluster/index.ts';
import { letVisitorIn } from '../../hack/demo/fleet/dashboard.ts';
import { repository } from '../../hack/images/parts.ts';
import { begin, type Journey, recordings, steps, tasksFor } from '../ui/journey.ts';
import { browserPackages } from '../ui/packages.ts';
import { openPage, pageServer, startBrowser } from '../ui/page.ts';
import { useFleet } from './fleet.ts';
import { apiOf, providerPool, recordedServer, startProvider } from './providerPod.ts';

const longest = 240_000;

describe.skipIf(process.env['AGENTFLEET_FULL'] !== '1')('in the browser alone', () => {
  const fleet = useFleet('browser', {
    before: async (made) => startProvider(made, { program: recordedServer, files: await recordings() }),
  });
  let close: (() => Promise<void>)[] = [];
  let journey: Journey;

  beforeAll(async () => {
    await installPackages(await findMissingPackages(browserPackages), console.log);
    await execa('npm', ['run', 'build', '--silent', '-w', '@agentfleet/dashboard'], { cwd: repository });
    await providerPool(fleet, 'chat', { experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api: apiOf(fleet) } }] });
    const { kubeconfig, context } = inject('fleet');
    const app = await pageServer(await kubeconfigConfig({ file: kubeconfig, context }));
    close = [() => app.close()];
    const browser = await startBrowser();
    close = [() => browser.close(), ...close];
    const { namespace } = fleet;
    await letVisitorIn(fleet.kubectl, { tasks: namespace, pools: namespace });
    const token = (await fleet.run('create', 'token', 'visitor')).trim();
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const place = { namespace, pool: `${namespace}/chat` };
    const open = await openPage({ browser, address }, begin(place), { token });
    open.page.setDefaultTimeout(longest);
    journey = { ...place, open };
    for (const { name, spec } of tasksFor(place.pool)) await fleet.apply('AgentTask', name, spec);
  }, 900_000);
  afterAll(async () => {
    for (const end of close) await end();
  });

  test.each(steps)('a person $title', ({ run }) => run(journey), longest);
});
