import { args, operands } from '../shell/command.ts';
import { absolute } from '../shell/places.ts';
import { readTargets, writeTargets } from '../shell/targets.ts';
import { found, nothing, type Rail } from './rail.ts';

const device =
  /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|loop|dm-|md|ram|mem|kmem|port|nbd|zd|sr|root|block)|^\/proc\/(?:kcore|kmem)/;
const tools =
  /^(?:mkfs(?:\..+)?|mke2fs|mkswap|mkdosfs|newfs|fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|partprobe|wipefs|blkdiscard|losetup|hdparm|cryptsetup|lvremove|vgremove|pvremove|lvcreate|mdadm|zpool|zfs|debugfs|tune2fs|resize2fs|badblocks|swapoff|swapon|diskutil|nvme)$/;
const asks = /^(?:-V|--version|-h|--help)$/;

/** Disks and memory are touched below the file system. */
export const rawDisk: Rail = {
  id: 'raw-disk',
  title: 'disks and memory below the file system',
  severity: 'Critical',
  risk: 'Destructive',
  cure: 'Work on files in the workspace; a disk image there needs no device.',
  check(command) {
    if (tools.test(command.name) && !args(command).some((text) => asks.test(text))) {
      const image =
        operands(command).length > 0 &&
        operands(command).every((text) => !text.startsWith('/') || !device.test(text)) &&
        command.name.startsWith('mk');
      return found(image ? 'Suspicious' : 'Critical', `${command.name} changes disks`);
    }
    const written = writeTargets(command).find((text) => device.test(absolute(text, command.cwd)));
    if (written !== undefined) return found('Critical', `${command.name || 'a redirect'} writes to ${written}`);
    const read = readTargets(command).find((text) => device.test(absolute(text, command.cwd)));
    return read === undefined || /^(?:test|ls|\[)$/.test(command.name) ? nothing : found('High', `${command.name} reads ${read}`);
  },
};
