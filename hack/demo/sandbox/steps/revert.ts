// hack, demo/sandbox/steps: chapter 4 of the demo, the revert script. May import any package.
import { buffer } from 'node:stream/consumers';
import type { Story } from './story.ts';
import type { Repaired } from './repair.ts';

/** Chapter 4: the revert script undoes the work in plain POSIX sh, without the keeper's help. */
export async function revert(story: Story, { initial, fixed }: Repaired): Promise<void> {
  story.chapter('4  The revert script');
  const bundle = await buffer(await story.client.revertBundle(initial.id, fixed.id));
  const unpack = 'mkdir -p /tmp/revert && base64 -d | tar -x -C /tmp/revert && cd /tmp/revert';
  const dry = await story.shell(`${unpack} && sh revert.sh --dry-run`, bundle.toString('base64'));
  for (const line of dry.stdout.trim().split('\n').slice(0, 6)) story.fact(line);
  const real = await story.shell(`${unpack} && sh revert.sh`, bundle.toString('base64'));
  story.prove('the script ends with success', real.end.exitCode === 0, real.stderr.trim());
  const now = await story.client.takeSnapshot('reverted');
  story.prove(`the tree is ${initial.id} again, manifest hash equal`, now.manifestDigest === initial.manifestDigest);
}
