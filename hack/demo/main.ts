// `npm run demo`: raises a real Kubernetes, installs the fleet, and proves that it finishes a task and undoes one that it
// cannot finish. `npm run demo -- --sandbox`: one sandbox pod by hand.
import { parseArgs } from 'node:util';
import { startEnvironment } from '../environment/index.ts';
import { fleetDemo } from './fleetDemo.ts';
import { sandboxDemo } from './sandbox/demo.ts';

const { values } = parseArgs({ options: { sandbox: { type: 'boolean', default: false }, context: { type: 'string' } } });

const started = performance.now();
const environment = await startEnvironment(values.context === undefined ? {} : { context: values.context });
const holds = await (values.sandbox ? sandboxDemo(environment) : fleetDemo(environment));
console.log(`
Done in ${((performance.now() - started) / 1000).toFixed(0)} s. The cluster stays up:
  export KUBECONFIG=${environment.cluster.kubeconfig}
  alias kubectl=${environment.cluster.bin('kubectl')}
End it with: npm run cluster:down`);
process.exitCode = holds ? 0 : 1;
