import { installed, languages } from './client-packages.ts'
import { fetched, missing, programs, versionOf } from './programs.ts'

/**
 * `node dist/test/real/fetch.js` puts the programs of the suite `real` into the cache. `--cached` fetches nothing,
 * lists missing ones and fails if there are any. `--versions` lists the versions. `--clients=python` puts only the client
 * packages of this language into the cache.
 */
if (process.argv.includes('--versions')) {
  console.log(programs.map((program) => `${program} ${versionOf(program)}`).join(', '))
} else if (process.argv.includes('--cached')) {
  const skip = missing(...programs)
  if (skip !== false) console.log(skip)
  process.exitCode = skip === false ? 0 : 1
} else {
  const named = languages.filter((language) => process.argv.includes(`--clients=${language}`))
  for (const language of named.length > 0 ? named : languages) {
    const { path, skip } = await installed(language)
    console.log(skip === false ? `client packages for ${language}: ${path}` : skip)
  }
  for (const program of named.length > 0 ? [] : programs) {
    const { path, skip } = await fetched(program)
    console.log(skip === false ? `${program}: ${path}` : skip)
  }
}
