import { describeRail } from '../testing/table.ts';

await describeRail('services', {
  positives: [
    'terraform destroy -auto-approve',
    'pulumi up --yes',
    'helm uninstall shop -n prod',
    'psql "$PROD_URL" -c "DROP SCHEMA public CASCADE"',
    'mysql shop -e "UPDATE orders SET status = 1"',
    'redis-cli -h redis.internal FLUSHALL',
    'mongosh shop --eval "db.orders.deleteMany({})"',
    'dropdb shop',
    'hey -z 30m -c 2000 https://www.example.com/',
    'docker system prune -af --volumes',
  ],
  evasions: [
    'bash -c "terraform apply -auto-approve"',
    'echo "delete from customers;" | psql shop',
    'd=shop; dropdb "$d"',
    'sqlite3 data/app.db <<< "DROP TABLE orders"',
  ],
  benign: [
    'terraform plan -out=/tmp/plan',
    'helm lint charts/shop',
    'psql shop_test -c "TRUNCATE orders"',
    'dropdb --if-exists shop_scratch',
    'redis-cli -h 127.0.0.1 -n 15 FLUSHDB',
    'sqlite3 test.db "DELETE FROM orders"',
    'sqlite3 data/app.db "DELETE FROM orders WHERE id = 3"',
    'wrk -t2 -c10 -d5s http://127.0.0.1:3000/',
    'docker ps -a',
  ],
});
