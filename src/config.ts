export type { Config, Provider } from './config/settings.ts'
