import { inReachOfEverybody } from './matrix.ts'
import { ofFlags } from './screens.ts'

await inReachOfEverybody(ofFlags)
