import { version } from '../../base/version.ts'
import { publicConfig } from '../../config/describe.ts'
import type { Config } from '../../config/load.ts'
import type { InstanceServices } from '../../http/services/instance.ts'

/** Version and configuration without secrets, for GET /meta/info and GET /meta/config. */
export const aboutOf = (config: Config): InstanceServices['about'] => ({
  info: {
    version,
    latestVersion: version,
    commit: process.env['ROLLCALL_COMMIT'] ?? '',
    buildDate: process.env['ROLLCALL_BUILD_DATE'] ?? '',
    nodeVersion: process.version,
    updateAvailable: false,
    isRelease: !version.includes('-'),
    os: process.platform,
    arch: process.arch,
    authentication: { required: config.authentication.required },
    storage: { type: config.storage.type, readOnly: config.storage.read_only },
    analytics: { enabled: false },
    ui: { theme: config.ui.default_theme, topbarColor: config.ui.topbar.color ?? '' },
  },
  config: publicConfig(config),
})
