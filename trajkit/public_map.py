"""stub until the maps branch lands"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajkit import geo
from trajkit.roads import RoadNetwork


@dataclass(frozen=True)
class PublicMap:
    network: RoadNetwork
    source: str
    def describe(self): return f"the road map is public and was not computed from the data: {self.source}"
    @classmethod
    def from_network(cls, network, source): return cls(network, source)
    @classmethod
    def lattice(cls, box, crs, spacing_m):
        x0,y0,x1,y1=geo.box_xy(box,crs); nx=max(2,int((x1-x0)/spacing_m)+1); ny=max(2,int((y1-y0)/spacing_m)+1)
        X,Y=np.meshgrid(np.linspace(x0,x1,nx),np.linspace(y0,y1,ny)); xy=np.column_stack([X.ravel(),Y.ravel()])
        i=np.arange(nx*ny).reshape(ny,nx)
        e=np.concatenate([np.column_stack([i[:,:-1].ravel(),i[:,1:].ravel()]),np.column_stack([i[:-1].ravel(),i[1:].ravel()])])
        e=np.concatenate([e,e[:,::-1]]); g=xy[e].reshape(-1,2); m=len(e)
        L=np.hypot(*(xy[e[:,0]]-xy[e[:,1]]).T)
        return cls(RoadNetwork(xy,np.arange(len(xy)),e,L,np.full(m,10.),np.full(m,"lattice"),np.zeros(m,bool),g,np.arange(m+1)*2,crs),f"a lattice of {spacing_m:g} m")
def read_map(path, crs): raise NotImplementedError
