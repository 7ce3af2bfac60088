import t from 'tap'
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { ownMongo, ownRedis, STAND_IN_BULK } from '../adapters/servers.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'

const [mongo, redis] = [await ownMongo(t), await ownRedis(t)]
const skip = mongo.skip || redis.skip

void t.test('a log without a stream prefix gets one only if the operator wants a second log', { skip }, async (t) => {
  const events = await startEventStore()
  t.teardown(() => events.kill())
  const log = `${await newDirectory(t)}/log`
  const open = (database: string, more: Readonly<Record<string, string>>) =>
    start(
      loadConfig({
        env: {},
        flags: {
          'server.host': '127.0.0.1',
          'server.http_port': '0',
          'storage.type': 'cluster',
          'eventstore.url': events.url,
          'mongodb.url': mongo.server!.url,
          'mongodb.database': database,
          'mongodb.bulk_size': String(STAND_IN_BULK),
          'redis.url': redis.server!.url,
          'log.file': log,
          ...more,
        },
      }).config,
    )
  const bare = { 'eventstore.stream_prefix': '' }
  await (await open('old', bare)).close()
  for (const database of ['old', 'new'])
    await t.rejects(open(database, {}), {
      message: /events without a prefix and no events under the prefix "rollcall\."\.\n.*eventstore\.stream_prefix: ''/,
    })
  await (await open('old', bare)).close()
  await (await open('new', { 'eventstore.shared': 'true' })).close()
  await (await open('new', {})).close()
})
