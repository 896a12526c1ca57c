import { expect, test } from 'vitest';
import { describeRail, shell, testPolicy, testRails } from '../testing/table.ts';

await describeRail('network', {
  positives: [
    'curl https://example.com',
    'wget example.com/x',
    'git clone https://example.com/a/b.git',
    'apt-get install -y jq',
    'ping -c1 8.8.8.8',
    'pip install https://example.com/x.whl',
    'git fetch',
    'git pull origin main',
    'npm ci',
  ],
  evasions: [
    'u=https://example.com; curl "$u"',
    'python3 -c "import urllib.request as u; u.urlopen(\'https://example.com\')"',
    'node -e "fetch(\'https://example.com\')"',
    'curl http://localhost@example.com/',
    'curl http://127.0.0.1.example.com/',
    'exec 3<>/dev/tcp/example.com/80',
    'timeout 5 env X=1 curl example.com',
    'curl "$(cat url.txt)"',
  ],
  benign: [
    'curl http://localhost:8080/health',
    'curl http://127.0.0.1:3000',
    'curl -s "http://localhost:$PORT/x"',
    'git clone ./a b',
    'git status',
    'curl --version',
    'nc -z 127.0.0.1 80',
    'echo https://example.com',
    'npm test',
    'pip list',
    'python3 -m http.server 8000',
    'curl http://[::1]:80/',
    'git remote -v',
    'make build',
  ],
});

const rails = await testRails();

test.each([
  ['npx eslint --ext mjs test', false],
  ['pip install --extra-index-url https://example.com/simple x', true],
  ['pip install --trusted-host example.com x', true],
])('%s trusts a foreign index: %s', (command, trusts) => {
  const { findings } = rails.judge(shell(command), testPolicy);
  expect(findings.some(({ reason }) => /foreign index|needs the network for/.test(reason))).toBe(trusts);
});
