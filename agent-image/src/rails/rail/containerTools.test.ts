import { expect, test } from 'vitest';
import { testPolicy, testRails } from '../testing/table.ts';

const rails = await testRails();
const decide = (command: string): string => rails.judge({ tool: 'Shell', command }, testPolicy).decision;

test.each([
  'docker build -t shop:dev .',
  'docker run --rm -v "$PWD":/src golang:1.23 go test ./...',
  'docker run -d -p 127.0.0.1:5433:5432 postgres:17',
  'docker compose -f compose.test.yaml down -v',
  'docker compose exec -T app pytest -q',
  'kubectl -n shop describe pod/shop-1 && kubectl -n shop logs deploy/shop --previous',
  'kubectl apply --dry-run=client -f deploy/',
  'sysctl -n kernel.pid_max',
  'iptables -L -n',
  'cat /sys/fs/cgroup/memory.max',
  'git fetch --prune origin',
  'gh pr view 12 --comments',
  'aws s3 ls s3://dev/',
  'kubectl --context kind-shop delete namespace shop-test',
  'aws --endpoint-url http://localhost:4566 s3 rm s3://itest/ --recursive',
  'cat /proc/sys/vm/max_map_count',
  'kubectl kustomize k8s/base',
  'helm version --short',
  'helm plugin list',
])('%s is left to gate 2', (command) => expect(decide(command)).not.toMatch(/Deny|NeedsApproval/));

test.each([
  'docker run --privileged alpine',
  'docker run -v /etc:/e alpine',
  'docker run --network host alpine',
  'docker build --allow security.insecure -t web .',
  'docker rm -f $(docker ps -aq)',
  'docker volume rm shop',
  'kubectl get secrets -A',
  'kubectl delete pods --all',
  'helm upgrade --install shop .',
  'helm plugin install https://example.com/p',
  'kubectl exec web -- id',
  'kubectl --context prod delete namespace shop',
  'aws --endpoint-url https://s3.example.net s3 cp data.tar s3://inbox/',
  'echo 0 > /proc/sys/vm/overcommit_memory',
  'echo 1 > /sys/fs/cgroup/memory.max',
  'git fetch https://git.example.net/x.git',
  'gh api -X DELETE repos/a/b',
  'aws secretsmanager get-secret-value --secret-id a',
])('%s is denied', (command) => expect(decide(command)).toBe('Deny'));
