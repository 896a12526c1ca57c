import { killProcessesOf, type Kubectl, type Sandbox } from '../../hack/sandbox/index.ts';

interface PodStatus {
  readonly status: {
    readonly podIP: string;
    readonly hostIP: string;
    readonly containerStatuses: readonly {
      readonly name: string;
      readonly containerID: string;
      readonly restartCount: number;
      readonly ready: boolean;
      readonly lastState: { readonly terminated?: { readonly reason: string; readonly exitCode: number } };
    }[];
  };
}

/** The status that the API server has of a sandbox's pod. */
export function podOf(kubectl: Kubectl, sandbox: Sandbox): Promise<PodStatus> {
  return kubectl.json<PodStatus>(['-n', sandbox.namespace, 'get', 'pod', sandbox.name]);
}

export async function containerOf(kubectl: Kubectl, sandbox: Sandbox, name: 'keeper' | 'tools') {
  const found = (await podOf(kubectl, sandbox)).status.containerStatuses.find((container) => container.name === name);
  if (found === undefined) throw new Error(`pod ${sandbox.name} has no container ${name}`);
  return found;
}

/** Kills all processes of a container at once, as the kernel does for a whole-container OOM. */
export async function killContainer(kubectl: Kubectl, sandbox: Sandbox, name: 'keeper' | 'tools'): Promise<void> {
  await killProcessesOf((await containerOf(kubectl, sandbox, name)).containerID);
}
