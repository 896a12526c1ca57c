import { describeRail } from '../testing/table.ts';

await describeRail('raw-disk', {
  positives: [
    'dd if=/dev/zero of=/dev/sda bs=1M',
    'mkfs.ext4 /dev/nvme0n1p1',
    'fdisk /dev/sda',
    'losetup /dev/loop0 disk.img',
    'wipefs -a /dev/vda',
    'cat image.iso > /dev/sdb',
    'shred -n 3 /dev/sda1',
    'cp image.iso /dev/sdc',
    'head -c 100 /dev/mem',
  ],
  evasions: [
    'd=/dev; dd if=x of=$d/sda',
    'echo x | tee /dev//sda > /dev/null',
    "sh -c 'mkfs -t ext4 /dev/sda'",
    "python3 -c \"open('/dev/sda', 'wb').write(b'x')\"",
    'dd if=x of=/dev/s""da',
    '$(which mkfs.ext4) /dev/sda1',
  ],
  benign: [
    'dd if=/dev/zero of=disk.img bs=1M count=10',
    'echo x > /dev/null',
    'ls -l /dev/sda',
    'mkfs.ext4 --version',
    'dd if=in.bin of=out.bin skip=1',
    'cat /dev/null > log.txt',
    'df -h',
    'head -c 16 /dev/urandom | xxd',
    'grep mkfs README.md',
  ],
});
