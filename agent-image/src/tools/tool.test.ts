import { expect, it } from 'vitest';
import { SandboxSession } from '../attempt/sandboxSession.ts';
import { namedChanges } from './tool.ts';

it('names changes without folders above others, even where all below a folder is derived, and without what git keeps', () => {
  const roots = ['workspace', 'home'].map((name) => ({ name, path: `/${name}` }));
  const session = new SandboxSession({ keeper: {} } as never, { add: () => undefined } as never, { roots });
  const paths = 'workspace/.git workspace/.git/index workspace/a.java workspace/core/target workspace/core/target/A.class home/.cache/x';
  const entries = paths.split(' ').map((path) => ({ op: 'M', path }) as const);
  const named = ['a.java (changed)', 'core/target/A.class (changed)'];
  expect(namedChanges(session, entries)).toEqual(named);
  expect(namedChanges(session, entries, (path) => path.startsWith('core/target/') || path.startsWith('../home/'))).toEqual([named[0]]);
});
