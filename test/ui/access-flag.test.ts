import { inReachOfEverybody } from './matrix.ts'
import { ofFlag } from './screens.ts'

await inReachOfEverybody(ofFlag)
