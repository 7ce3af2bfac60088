// Script `prepare` of package.json, which npm runs after each installation.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const here = (path) => existsSync(new URL(path, import.meta.url))
const missing = 'the packages that build Rollcall are not installed'

if (here('node_modules/typescript/package.json') && here('node_modules/vite/package.json')) {
  const { status } = spawnSync(process.execPath, [process.env.npm_execpath, 'run', 'build'], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} else if (here('dist/src/main.js')) {
  console.log(`dist is not built again, because ${missing}.`)
} else {
  console.error(`error: ${missing}: install them with npm ci --include=dev.`)
  process.exitCode = 1
}
