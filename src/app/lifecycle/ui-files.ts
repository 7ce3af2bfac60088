import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Config } from '../../config/load.ts'
import type { UiFile, UiFiles } from '../../http/ui/files.ts'
import type { Logger } from '../telemetry/logger.ts'

const BUILT = join(import.meta.dirname, '../../../ui')
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const read = (path: string): Buffer | undefined => (existsSync(path) ? readFileSync(path) : undefined)

/**
 * Reads the files of `dist/ui` once. Returns undefined if the UI is off; logs a warning and returns `unbuilt` if the UI
 * is not built.
 */
export const uiFiles = (
  { ui }: Pick<Config, 'ui'>,
  logger: Logger,
  directory: string = BUILT,
): UiFiles | 'unbuilt' | undefined => {
  if (!ui.enabled) return undefined
  const page = read(join(directory, 'index.html'))
  const icon = read(join(directory, 'icon.svg'))
  if (!page || !icon) {
    logger.warn({ directory }, 'the files of the web UI are missing; run npm run build, or set ui.enabled: false')
    return 'unbuilt'
  }
  const folder = join(directory, 'assets')
  const assets = new Map<string, UiFile>()
  for (const name of readdirSync(folder)) {
    const type = types[extname(name)]
    if (type === undefined) continue
    const path = join(folder, name)
    assets.set(name, { type, plain: readFileSync(path), br: read(`${path}.br`), gzip: read(`${path}.gz`) })
  }
  return { page: page.toString('utf8'), icon, assets }
}
