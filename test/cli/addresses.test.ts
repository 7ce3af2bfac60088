import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { wrongAddresses } from '../../src/app/stores/store-addresses.ts'
import { loadConfig } from '../../src/config/load.ts'
import { rollcall, rollcallProcess } from './service.ts'

await t.test('an invalid address ends a start with exit code 2, and config check reports it', async (t) => {
  const servers = {
    eventstore: 'esdb://127.0.0.1:1?tls=false',
    mongodb: 'mongodb://127.0.0.1:1',
    redis: 'redis://127.0.0.1:1',
  }
  const missing = join(tmpdir(), 'rollcall-no-such-file.pem')
  const wrong: readonly (readonly [server: keyof typeof servers, url: string, said: RegExp])[] = [
    ['eventstore', 'esdb://127.0.0.1:1?tls=false&tlsCaPath=x', /eventstore\.url: has an unknown option: tlscapath/],
    ['eventstore', 'esdb://:hunter2@127.0.0.1:1', /eventstore\.url: has a password but no user/],
    ['eventstore', 'esdb://admin@127.0.0.1:1', /eventstore\.url: has a user but no password/],
    [
      'eventstore',
      `esdb://admin:hunter2@127.0.0.1:1?tlsCAFile=${missing}`,
      /eventstore\.url: names a file that cannot be read \(ENOENT\): /,
    ],
    [
      'mongodb',
      'mongodb://admin:hunter2@127.0.0.1:1/?hunter=1',
      /mongodb\.url: cannot be read: option hunter is not supported/,
    ],
    ['mongodb', 'mongodb://:hunter2@127.0.0.1:1', /mongodb\.url: cannot be read: URI contained empty userinfo section/],
    [
      'mongodb',
      `mongodb://127.0.0.1:1/?tls=true&tlsCAFile=${missing}`,
      /mongodb\.url: names a file that cannot be read/,
    ],
    [
      'mongodb',
      'mongodb://127.0.0.1:1/?readPreference=secondaryPreferred',
      /mongodb\.url: sets readPreference to secondaryPreferred: only primary always/,
    ],
    ['mongodb', 'mongodb://127.0.0.1:1/?w=1', /mongodb\.url: sets w to a value other than majority/],
    ['mongodb', 'mongodb://127.0.0.1:1/?journal=false', /mongodb\.url: sets journal=false/],
    ['mongodb', 'mongodb://admin:hunter2/@127.0.0.1:1', /mongodb\.url: cannot be read/],
    ...(
      [
        ['readConcernLevel=local', /sets readConcernLevel to local: only majority never returns writes/],
        ['readconcernlevel=available', /sets readConcernLevel to available/],
        ['timeoutMS=1000', /sets timeoutMS: remove it/],
        ['serverSelectionTimeoutMS=30000', /sets serverSelectionTimeoutMS to 30000: it must be from 100 to 10000/],
        ['waitQueueTimeoutMS=0', /sets waitQueueTimeoutMS to 0/],
        ['connectTimeoutMS=500', /sets connectTimeoutMS to 500: it must be from 2000 to 30000, because a heartbeat/],
        ['socketTimeoutMS=0', /sets socketTimeoutMS to 0: .* connections without answers must end/],
        ['socketTimeoutMS=5000', /sets socketTimeoutMS to 5000: .* the longest call takes 10 s/],
        ['heartbeatFrequencyMS=60000', /sets heartbeatFrequencyMS to 60000/],
        ['maxPoolSize=1', /sets maxPoolSize to 1: it must be from 5 to 1000, because reads and writes/],
        ['minPoolSize=30', /sets minPoolSize to 30: it must be at most maxPoolSize, which is 20/],
      ] as const
    ).map(([option, said]) => ['mongodb', `mongodb://admin:hunter2@127.0.0.1:1/?tls=false&${option}`, said] as const),
    ['redis', 'redis://:hunter2@127.0.0.1:none', /redis\.url: is invalid/],
    ['redis', 'redis://:hunter2@127.0.0.1:1/cache', /redis\.url: has a database that is not a number/],
    ['redis', 'redis://:hunter2/x@127.0.0.1:1', /redis\.url: is invalid/],
    ['redis', 'redis://:hunter2@127.0.0.1:1,b:2', /redis\.url: has several hosts: set redis\.mode/],
    ['redis', 'redis://:hunter2@127.0.0.1:1,,b:2', /redis\.url: has no host/],
    ['redis', 'redis://:hunter2%@127.0.0.1:1', /redis\.url: is invalid: .*%40/],
    [
      'redis',
      'redis://:hunter2@127.0.0.1:1?tls=true',
      /redis\.url: has options after the address, which Redis does not support/,
    ],
    ['redis', 'redis://hunter2@127.0.0.1:1', /redis\.url: has a user but no password/],
  ]
  const environmentOf = (server: string, url: string): Readonly<Record<string, string>> => ({
    ...Object.fromEntries(
      Object.entries({ ...servers, [server]: url }).map(([name, to]) => [`ROLLCALL_${name.toUpperCase()}_URL`, to]),
    ),
    ROLLCALL_STORAGE_TYPE: 'cluster',
    ROLLCALL_SERVER_HTTP_PORT: '0',
  })
  for (const [server, url, said] of wrong) {
    const found = await wrongAddresses(loadConfig({ env: environmentOf(server, url) }).config)
    const told = found.map(({ key, description }) => `${key}: ${description}`)
    t.match(told, [said], url)
    t.notMatch(told.join('\n'), /hunter2/)
  }
  const [server, url, said] = wrong[2]!
  const env = environmentOf(server, url)
  const [checked, started] = await Promise.all([rollcall(['config', 'check'], env), rollcallProcess(['serve'], env)])
  t.match([checked.exit, checked.out], [3, said])
  t.match([started.exit, started.out, started.err], [2, '', said])
  t.notMatch(checked.out + checked.err + started.err, /hunter2/)
})
