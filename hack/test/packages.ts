// Installs the programs that tests run beside ours: without them those tests would be skipped.
import { findMissingPackages, installPackages } from '../cluster/index.ts';
import { browserPackages } from '../../test/ui/packages.ts';

await installPackages(await findMissingPackages(['busybox', 'shellcheck', ...browserPackages]), console.log);
