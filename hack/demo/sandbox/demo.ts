import { fileURLToPath } from 'node:url';
import { keeperPort, labels, sandboxUid } from '@agentfleet/operator/sandbox';
import type { TestEnvironment } from '../../environment/index.ts';
import { deleteNamespace, Kubectl, openSandbox, prepareNamespace, workerServiceAccount } from '../../sandbox/index.ts';
import { bundleProgram } from '../../bundle.ts';

const namespace = 'agentfleet-sandbox-demo';

/** One sandbox pod without operator and worker: proves by hand that it holds, runs and undoes. */
export async function sandboxDemo(environment: TestEnvironment): Promise<boolean> {
  const kubectl = new Kubectl(environment.cluster);
  await deleteNamespace(kubectl, namespace);
  const issuer = await prepareNamespace(kubectl, namespace);
  const images = { sandboxImage: environment.image('sandbox'), toolsImage: environment.image('tools') };
  const sandbox = await openSandbox(kubectl, { namespace, name: 'sandbox', issuer, ...images });
  await kubectl.apply(workerPod({ name: 'worker', namespace, image: environment.image('sandbox'), audience: sandbox.uid }));
  await kubectl.waitReady(namespace, 'worker', 60);
  const { status } = await kubectl.json<{ status: { podIP: string } }>(['-n', namespace, 'get', 'pod', 'sandbox']);

  const program = await bundleProgram(fileURLToPath(new URL('driver.ts', import.meta.url)));
  const url = `http://${status.podIP}:${keeperPort}`;
  const run = kubectl.spawn(['-n', namespace, 'exec', '-i', 'worker', '--', 'node', '--input-type=module', '-', url], program);
  run.stdout?.pipe(process.stdout);
  run.stderr?.pipe(process.stderr);
  const { exitCode } = await run.catch((error: { exitCode?: number }) => ({ exitCode: error.exitCode ?? 1 }));
  await sandbox.detach();
  console.log(`\nLook around:\n  kubectl -n ${namespace} get pods\n  kubectl -n ${namespace} logs sandbox -c keeper`);
  return exitCode === 0;
}

/**
 * A pod in the worker's place: labelled so that the network policy admits it, with a token of the worker's
 * ServiceAccount whose audience is the sandbox pod's uid (the kubelet requests it by TokenRequest and renews it). It
 * waits for a program on standard input.
 */
function workerPod(input: {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly audience: string;
}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: input.name, namespace: input.namespace, labels: { [labels.component]: 'worker' } },
    spec: {
      serviceAccountName: workerServiceAccount,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: sandboxUid, runAsGroup: sandboxUid, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'worker',
          image: input.image,
          imagePullPolicy: 'IfNotPresent',
          command: ['node', '-e', 'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1 << 30)'],
          resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '256Mi' } },
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'token', mountPath: '/var/run/agentfleet', readOnly: true }],
        },
      ],
      volumes: [
        {
          name: 'token',
          projected: { sources: [{ serviceAccountToken: { audience: input.audience, expirationSeconds: 600, path: 'token' } }] },
        },
      ],
    },
  };
}
