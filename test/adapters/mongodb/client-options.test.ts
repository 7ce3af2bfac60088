import { MongoClient } from 'mongodb'
import t from 'tap'
import { clientOptions, writersOf, wrongWith } from '../../../src/adapters/mongodb/address.ts'

const optionsOf = (query: string) => {
  const url = `mongodb://127.0.0.1:1/?${query}`
  t.equal(wrongWith(url), undefined, query)
  const { options } = new MongoClient(url, clientOptions(url))
  return options
}

await t.test('options of the address count, also in lower case', (t) => {
  for (const [query, expected] of [
    ['', { retryWrites: true, retryReads: true, maxPoolSize: 20, appName: 'rollcall', socketTimeoutMS: 12_000 }],
    ['retryWrites=false', { retryWrites: false, retryReads: true }],
    ['retryreads=false&RETRYWRITES=false', { retryWrites: false, retryReads: false }],
    ['retryWrites=true&w=majority&appName=Cluster0', { retryWrites: true, appName: 'Cluster0' }],
    ['serverSelectionTimeoutMS=5000', { serverSelectionTimeoutMS: 5000, waitQueueTimeoutMS: 1400 }],
    ['waitqueuetimeoutms=2500', { waitQueueTimeoutMS: 2500 }],
    ['connectTimeoutMS=10000&socketTimeoutMS=30000', { connectTimeoutMS: 10_000, socketTimeoutMS: 30_000 }],
    ['heartbeatFrequencyMS=10000', { heartbeatFrequencyMS: 10_000 }],
    ['maxPoolSize=100&minPoolSize=5', { maxPoolSize: 100, minPoolSize: 5 }],
    ['readConcernLevel=majority', { readConcern: { level: 'majority' } }],
    ['appname=shop%26retryWrites%3Dfalse', { appName: 'shop&retryWrites=false', retryWrites: true }],
  ] as const)
    t.match(optionsOf(query), expected, query)
  t.end()
})

await t.test('no option of the address weakens writes or reads', (t) => {
  for (const query of ['', 'retryWrites=false', 'w=majority&journal=true', 'maxPoolSize=5'])
    t.match(optionsOf(query), {
      writeConcern: { w: 'majority', j: true },
      readConcern: { level: 'majority' },
      useBigInt64: true,
      ignoreUndefined: true,
    })
  t.end()
})

await t.test('writes use at most three fifths of the connections', (t) => {
  for (const [query, writers] of [
    ['', 12],
    ['maxPoolSize=5', 3],
    ['maxPoolSize=100', 60],
  ] as const)
    t.equal(writersOf(optionsOf(query)), writers)
  t.end()
})
