// `npm run demo`: raises a real Kubernetes, opens one sandbox pod, and proves by hand that it holds, runs and undoes.
import { fileURLToPath } from 'node:url';
import { keeperPort } from '@agentfleet/operator/sandbox';
import { raiseGround } from '../ground/index.ts';
import { deleteNamespace, Kubectl, openSandbox, prepareNamespace, workerPod } from '../sandbox/index.ts';
import { bundleProgram } from './bundle.ts';

const namespace = 'agentfleet-demo';
const contextAt = process.argv.indexOf('--context');
const context = contextAt < 0 ? undefined : process.argv[contextAt + 1];

const started = performance.now();
const ground = await raiseGround(context === undefined ? {} : { context });
const kubectl = new Kubectl(ground.cluster);
await deleteNamespace(kubectl, namespace);
const issuer = await prepareNamespace(kubectl, namespace);
const sandbox = await openSandbox(kubectl, {
  namespace,
  name: 'sandbox',
  issuer,
  sandboxImage: ground.image('sandbox'),
  toolsImage: ground.image('tools'),
});
await kubectl.apply(workerPod({ name: 'worker', namespace, image: ground.image('sandbox'), audience: sandbox.uid }));
await kubectl.waitReady(namespace, 'worker', 60);
const { status } = await kubectl.json<{ status: { podIP: string } }>(['-n', namespace, 'get', 'pod', 'sandbox']);

const program = await bundleProgram(fileURLToPath(new URL('driver.ts', import.meta.url)));
const url = `http://${status.podIP}:${keeperPort}`;
const run = kubectl.spawn(['-n', namespace, 'exec', '-i', 'worker', '--', 'node', '--input-type=module', '-', url], program);
run.stdout?.pipe(process.stdout);
run.stderr?.pipe(process.stderr);
const { exitCode } = await run.catch((error: { exitCode?: number }) => ({ exitCode: error.exitCode ?? 1 }));

const { kubeconfig } = ground.cluster;
console.log(`
Done in ${((performance.now() - started) / 1000).toFixed(0)} s. The cluster stays up. Look around:
  export KUBECONFIG=${kubeconfig}
  ${ground.cluster.bin('kubectl')} -n ${namespace} get pods
  ${ground.cluster.bin('kubectl')} -n ${namespace} logs sandbox -c keeper
End it with: npm run cluster:down`);
await sandbox.detach();
process.exitCode = exitCode === 0 ? 0 : 1;
