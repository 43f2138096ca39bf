class GraphModule(torch.nn.Module):
    def forward(
        self,
        arg0_1: "f16[8, 4][4, 1]cuda:0",  # PlainAOTInput(idx=0)
        arg1_1: "f16[2, 4]",
    ):
        # File: x.py:1 in f, code: a = "it's (odd"
        permute: "f16[4, 8][1, 4]cuda:0" = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        mm: "f16[2, 8]" = torch.ops.aten.mm.default(arg1_1, permute);  arg1_1 = permute = None
        convert: "f32[2, 8]" = torch.ops.prims.convert_element_type.default(mm, torch.float32);  mm = None
        var_mean = torch.ops.aten.var_mean.correction(convert, [1], correction = 0, keepdim = True)
        getitem: "f32[2, 1]" = var_mean[0]
        getitem_1: "f32[2, 1]" = var_mean[1];  var_mean = None
        sub = torch.ops.aten.sub.Tensor(convert, getitem_1)
        full: "f32[2]" = torch.ops.aten.full.default([2], -1.5e-05, dtype = torch.float32, device = device(type='cuda', index=0), pin_memory = False)
        return (sub, getitem, full)
