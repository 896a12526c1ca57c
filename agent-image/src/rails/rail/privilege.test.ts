import { describeRail } from '../testing/table.ts';

await describeRail('privilege', {
  positives: [
    'sudo ls',
    'su - root',
    'doas sh',
    'setcap cap_net_raw+ep ./x',
    'chmod u+s ./x',
    'chmod 4755 ./x',
    'chmod 6775 ./x',
    'chown root:root x',
    'useradd bob',
    'passwd root',
  ],
  evasions: [
    's=su; ${s}do ls',
    "sh -c 'sudo id'",
    'chmod ug+rxs ./x',
    'install -m 4755 a b',
    '\\sudo id',
    '"su"do id',
    'find . -exec chmod +s {} \\;',
    'python3 -c "import os; os.chmod(\'x\', 0); os.setuid(0)"',
  ],
  benign: [
    'chmod +x run.sh',
    'chmod 755 run.sh',
    'chmod -R u+rw src',
    'chmod 0644 a.txt',
    'find team -type d -exec chmod 2775 {} +',
    'chmod g+s team',
    'grep sudo Dockerfile',
    'echo "sudo apt install x"',
    'id',
    'ls -l /usr/bin/sudo',
    'git commit -m "use sudo"',
  ],
});
