import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { gvisorFolder, gvisorHandler } from '../daemons/node.ts';
import type { Start } from './control-plane.ts';

/** Name of the RuntimeClass; its handler is the one that containerd knows. */
export const gvisorClass = 'gvisor';

/**
 * Returns the configuration of gVisor's shim. Sockets on volumes are the host's, so that the containers of a pod can
 * share one: each of them has a separate gofer. Without CAP_SYS_RESOURCE runsc may not raise limits either, and does
 * not need to.
 */
export function runscConfig(folder: string): string {
  return `binary_name = "${join(folder, 'runsc')}"
root = "${join(folder, 'run')}"
[runsc_config]
  platform = "systrap"
  host-uds = "all"
`;
}

/** Points a name at a file; a start of the old one meanwhile finds it complete. */
async function point(link: string, target: string): Promise<void> {
  await rm(`${link}.new`, { force: true });
  await symlink(target, `${link}.new`);
  await rename(`${link}.new`, link);
}

/**
 * Makes pods with `runtimeClassName: gvisor` run: puts shim and runsc where containerd's configuration expects them, so
 * that nothing has to be restarted, and creates the RuntimeClass. The family must be built and the API server ready.
 */
export async function installGvisor({ around, log }: Pick<Start, 'around' | 'log'>): Promise<void> {
  const { layout, binaries } = around;
  const folder = gvisorFolder(layout);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  await writeFile(join(folder, 'runsc.toml'), runscConfig(folder), { mode: 0o644 });
  for (const name of ['runsc', 'containerd-shim-runsc-v1']) await point(join(folder, name), binaries.path(name));
  const runtimeClass = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: gvisorClass },
    handler: gvisorHandler,
    // Resources of the sentry and its gofers besides the containers; a pod is scheduled with it.
    overhead: { podFixed: { cpu: '50m', memory: '64Mi' } },
  };
  const args = ['--kubeconfig', layout.kubeconfig, 'apply', '--server-side', '--force-conflicts', '-f', '-'];
  await execa(binaries.path('kubectl'), args, { input: JSON.stringify(runtimeClass) });
  log(`RuntimeClass ${gvisorClass} is there`);
}
