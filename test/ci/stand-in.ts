import { failureOf, ferretdb } from '../adapters/ferretdb.ts'

/**
 * `node dist/test/ci/stand-in.js` builds the stand-in for MongoDB before the tests, because a first build can exceed
 * the time limit of a test.
 */
const LIMIT_MS = 400_000
try {
  await ferretdb(LIMIT_MS)
} catch (error) {
  console.log(`not built: the stand-in for MongoDB: ${failureOf(error)}`)
  process.exitCode = 1
}
