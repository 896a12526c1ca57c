// `npm run demo`: raises a real Kubernetes, installs the fleet, and proves that it finishes a task and undoes one that it
// cannot finish. `npm run demo -- --sandbox`: one sandbox pod by hand. `npm run demo -- --start`: the fleet, a forge and an endpoint
// with a key for docs/start.md, and no task.
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEnvironment, type TestEnvironment } from '../environment/index.ts';
import { installFleet } from '../install/index.ts';
import { startLocal, writeVariables } from '../start/index.ts';
import { fleetDemo } from './fleetDemo.ts';
import { namespaces } from './fleet/stage.ts';
import { sandboxDemo } from './sandbox/demo.ts';

const { values } = parseArgs({
  options: { sandbox: { type: 'boolean', default: false }, start: { type: 'boolean', default: false }, context: { type: 'string' } },
});

/** The ground of docs/start.md. */
async function ground(environment: TestEnvironment): Promise<boolean> {
  await installFleet(environment, { namespace: namespaces.system });
  const folder = join(dirname(environment.cluster.kubeconfig), 'start');
  const file = await writeVariables(folder, await startLocal(environment, folder), environment.cluster);
  console.log(`\nThe fleet, a forge with a repository and an endpoint are ready. Go on with docs/start.md, after:\n  . ${file}`);
  return true;
}

const started = performance.now();
const environment = await startEnvironment(values.context === undefined ? {} : { context: values.context });
const play = values.start ? ground : values.sandbox ? sandboxDemo : fleetDemo;
const holds = await play(environment);
console.log(`
Done in ${((performance.now() - started) / 1000).toFixed(0)} s. The cluster stays up:
  export KUBECONFIG=${environment.cluster.kubeconfig}
  alias kubectl=${environment.cluster.bin('kubectl')}
End it with: npm run cluster:down`);
process.exitCode = holds ? 0 : 1;
